import { number, quantity } from '../../lib/quantity.ts'
import { type Canvas, drawBars, drawTrends } from './charts.ts'

const numbers = ['sent', 'delivered', 'opened', 'clicked', 'answered', 'unsubscribed'] as const
const faults = ['bounced', 'complained', 'failed', 'cancelled', 'suppressed'] as const
const trends = ['sent', 'opened', 'clicked', 'answered'] as const

type Numbers = Readonly<Record<(typeof numbers)[number] | (typeof faults)[number], number>>

/** Results of email (docs/reference/results.md). */
export interface Results extends Numbers {
  links: readonly { url: string; clicks: number; people: number }[]
  days: readonly ({ date: string } & Numbers)[]
  /** The averages of some rates over the earlier broadcasts; `broadcasts` is their number. */
  average?: ({ broadcasts: number } & Partial<Readonly<Record<keyof Numbers, number | null>>>) | null
}

/** Numbers that are the sums of their days, such as the submissions of a form. */
export type Counts<Name extends string> = Readonly<Record<Name, number>> & {
  days: readonly ({ date: string } & Readonly<Record<Name, number>>)[]
}

const mostLinks = 10

const percent = (rate: number): string => `${(100 * rate).toFixed(1)} %`

const drawByDay = <Name extends string>(counts: Counts<Name>, names: readonly Name[], canvas: Canvas): string[] => {
  const { days } = counts
  if (days.length < 2) return []
  const drawn = names.filter((name) => counts[name] > 0)
  return [
    '',
    `By day, ${days[0]!.date} to ${days.at(-1)!.date} (UTC):`,
    ...drawTrends(
      drawn.map((name) => ({ label: name, values: days.map((day) => day[name]) })),
      canvas,
    ),
  ]
}

/** Draws the named counts as lines: bars, and lines over the days. */
export const drawCounts = <Name extends string>(
  counts: Counts<Name>,
  names: readonly Name[],
  canvas: Canvas,
): string[] => [
  ...drawBars(
    names.map((name) => ({ label: name, value: counts[name] })),
    canvas,
  ),
  ...drawByDay(counts, names, canvas),
]

/** Draws results as lines: bars with rates and their averages, lines over the days, and the links with the most clicks. */
export const drawResults = (results: Results, canvas: Canvas): string[] => {
  const { sent, delivered, links, average } = results
  const wholeOf = (name: keyof Numbers) => {
    if (name === 'delivered' || name === 'bounced') return sent
    return name === 'opened' || name === 'clicked' || name === 'answered' || name === 'unsubscribed' ? delivered : 0
  }
  const rated = (name: keyof Numbers): string => {
    const whole = wholeOf(name)
    if (whole <= 0) return ''
    const usual = average?.[name] ?? null
    return ` (${percent(results[name] / whole)}${usual === null ? '' : `, average ${percent(usual)}`})`
  }
  const bars = [...numbers, ...faults.filter((name) => results[name] > 0)].map((name) => ({
    label: name,
    value: results[name],
    text: `${number(results[name])}${rated(name)}`,
  }))
  const lines = drawBars(bars, canvas)
  if (average && delivered > 0) lines.push('', `Average: of the last ${quantity(average.broadcasts, 'broadcast')}.`)
  lines.push(...drawByDay(results, trends, canvas))
  if (links.length > 0) {
    lines.push('', 'Clicks by link:')
    const most = links.slice(0, mostLinks)
    lines.push(
      ...drawBars(
        most.map(({ url, clicks }) => ({ label: url, value: clicks })),
        canvas,
      ),
    )
    if (links.length > mostLinks) lines.push(`${number(links.length - mostLinks)} more with --json`)
  }
  return lines
}
