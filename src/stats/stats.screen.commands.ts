import {
  type Canvas,
  drawBars,
  drawGauges,
  drawTrends,
  fitted,
  moneyText,
  printable,
  span,
  widthOf,
} from '../cli/output.ts'
import { atFirstUse } from '../lib/at-first-use.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { Stats, StatsByDay } from './stats.ts'

/** Cells between two columns, and the widths from which on there are two and three of them. */
const gap = 3
const [twoColumns, threeColumns] = [76, 132]
/** Links that are shown beside other blocks, and where there is more room. */
const [fewLinks, manyLinks] = [4, 10]

const dayMs = 86_400_000
const mailMetrics = [
  ...['sent', 'delivered', 'opened', 'clicked', 'answered', 'unsubscribed', 'bounced'],
  ...['complained', 'failed', 'cancelled', 'suppressed'],
] as (keyof Omit<Stats['mail'], 'links' | 'days'>)[]

type Draw = (canvas: Canvas) => string[]

const duration = (ms: number): string => (ms < 1000 ? `${number(ms)} ms` : span(ms))

/** Narrow columns have no room for words beside a bar. */
const limitText = (used: number, limit: number | null, { columns }: Canvas): string =>
  limit === null ? number(used) : [number(used), number(limit)].join(columns < 45 ? '/' : ' of ')

const line = (text: string, { columns }: Canvas): string => fitted(printable(text), columns).trimEnd()

const contactsOf =
  ({ contacts }: Stats, days: StatsByDay): Draw =>
  (canvas) => [
    'Contacts',
    ...drawTrends(
      [
        { label: 'total', text: number(contacts.total), values: [] },
        { label: 'added', text: number(contacts.added), values: days.contacts.added },
        { label: 'left', text: number(contacts.left), values: days.contacts.left },
      ],
      canvas,
    ),
  ]

const dealsOf =
  ({ deals }: Stats, days: StatsByDay): Draw =>
  (canvas) => {
    const sums = Object.entries(deals.value).map(([currency, amount]) => moneyText({ amount, currency }))
    return [
      'Deals',
      line(`open  ${number(deals.open)}${sums.length > 0 ? ` (${sums.join(', ')})` : ''}`, canvas),
      ...drawTrends(
        [
          { label: 'won', text: number(deals.won), values: days.deals.won },
          { label: 'lost', text: number(deals.lost), values: days.deals.lost },
        ],
        canvas,
      ),
    ]
  }

const deliveriesOf =
  ({ deliveries }: Stats, days: StatsByDay): Draw =>
  (canvas) => {
    const { delivered, exhausted, p50Ms, p99Ms } = deliveries
    return [
      'Webhook deliveries',
      ...drawTrends(
        [
          { label: 'delivered', text: number(delivered), values: days.deliveries.delivered },
          { label: 'exhausted', text: number(exhausted), values: days.deliveries.exhausted },
        ],
        canvas,
      ),
      ...(p50Ms === null || p99Ms === null
        ? []
        : [line(`half within ${duration(p50Ms)}, 99 % within ${duration(p99Ms)}`, canvas)]),
    ]
  }

const mailOf =
  ({ mail, machines }: Stats): Draw =>
  (canvas) => [
    'Email',
    ...drawTrends(
      mailMetrics.map((name) => ({
        label: name,
        text: number(mail[name]),
        values: mail.days.map((day) => day[name]),
      })),
      canvas,
    ),
    ...(machines
      ? [line(`machines  ${quantity(machines.opens, 'open')}, ${quantity(machines.clicks, 'click')}`, canvas)]
      : []),
  ]

const quotasOf =
  ({ quotas }: Stats): Draw =>
  (canvas) => [
    'Plan',
    ...drawGauges(
      quotas.map(({ quota, used, limit }) => ({
        label: quota,
        value: used,
        limit,
        text: limitText(used, limit, canvas),
      })),
      canvas,
    ),
  ]

const linksOf =
  ({ mail: { links } }: Stats, most: number): Draw =>
  (canvas) => {
    if (links.length === 0) return []
    const hidden = links.length - most
    return [
      hidden > 0 ? line(`Clicks (${hidden} more: --json)`, canvas) : 'Clicks',
      ...drawBars(
        links.slice(0, most).map(({ url, clicks }) => ({ label: url, value: clicks })),
        canvas,
      ),
    ]
  }

/** Returns blocks below each other, with an empty line between them. */
const stacked = (blocks: readonly Draw[], canvas: Canvas): string[] =>
  blocks
    .map((draw) => draw(canvas))
    .filter((lines) => lines.length > 0)
    .flatMap((lines, i) => (i > 0 ? ['', ...lines] : lines))

/** Returns columns of blocks beside each other. */
const beside = (columns: readonly (readonly Draw[])[], canvas: Canvas): string[] => {
  const width = Math.floor((canvas.columns - gap * (columns.length - 1)) / columns.length)
  const drawn = columns.map((blocks) => stacked(blocks, { ...canvas, columns: width }))
  return Array.from({ length: Math.max(...drawn.map((lines) => lines.length)) }, (_, row) =>
    drawn
      .map((lines) => lines[row] ?? '')
      .map((text) => text + ' '.repeat(Math.max(width - widthOf(text), 0)))
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

const format = atFirstUse(
  () => new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' }),
)

/** Draws the statistics of an account as lines that fit the terminal: at most 23 of them from 76 columns on. */
export const drawStats = (account: string, stats: Stats, days: StatsByDay, canvas: Canvas): string[] => {
  const period = format().formatRange(stats.from, stats.to - 1)
  const count = quantity(Math.round((stats.to - stats.from) / dayMs), 'UTC day')
  const [contacts, deals, deliveries] = [contactsOf(stats, days), dealsOf(stats, days), deliveriesOf(stats, days)]
  const [mail, quotas] = [mailOf(stats), quotasOf(stats)]
  const layout = (): string[] => {
    const events = [contacts, deals, deliveries]
    const { columns } = canvas
    if (columns >= threeColumns) return beside([events, [mail], [quotas, linksOf(stats, manyLinks)]], canvas)
    if (columns >= twoColumns)
      return beside(
        [
          [...events, linksOf(stats, fewLinks)],
          [mail, quotas],
        ],
        canvas,
      )
    return stacked([contacts, mail, deals, deliveries, quotas, linksOf(stats, manyLinks)], canvas)
  }
  return [line(`${account}, ${period} (${count})`, canvas), '', ...layout()]
}
