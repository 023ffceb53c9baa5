import { type CommandList, command } from '../cli/define.ts'
import { present, text } from '../cli/flags.ts'
import { hasScreen, repeated, watchOnScreen } from '../cli/screen.ts'
import { Problem } from '../lib/problem.ts'
import type { Stats } from './stats.ts'

const redrawMs = 2000

/** Returns the statistics as lines for a pipe: `mail sent`, `quota contacts`. */
const flat = ({
  from,
  to,
  contacts,
  mail,
  machines,
  deals,
  deliveries,
  quotas,
}: Stats): Record<string, number | string | null> => {
  const { links: _, days: __, ...numbers } = mail
  const { value, ...counts } = deals
  const named = (prefix: string, of: object) =>
    Object.fromEntries(Object.entries(of).map(([name, count]) => [`${prefix} ${name}`, count]))
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...named('contacts', contacts),
    ...named('mail', numbers),
    ...named('machines', machines ?? {}),
    ...named('deals', counts),
    ...named('deals value', value),
    ...named('deliveries', deliveries),
    ...Object.fromEntries(quotas.map(({ quota, used }) => [`quota ${quota}`, used])),
  }
}

/** The command `svc stats` (docs/reference/cli.md#statistics). */
export const commands: CommandList = [
  command({
    path: 'stats',
    examples: ['svc stats --days 7', 'svc stats --account Shop --json'],
    flags: {
      days: text('<n>', 'UTC days to count, 1 to 366, the current one included', { default: '30' }),
      watch: present('refresh every two seconds until q (on a terminal) or Ctrl-C'),
    },
    run: async (context, { days, watch }) => {
      const { account, out, signal, work } = context
      const { mostDays, readStats } = await import('./stats.ts')
      const { drawStats } = await import('./stats.screen.commands.ts')
      const count = /^\d{1,3}$/.test(days) ? Number(days) : 0
      if (count < 1 || count > mostDays) throw new Problem('usage', `--days must be 1 to ${mostDays}`)
      const { name } = await account()
      const read = () => work((w) => readStats(w, count))
      const isDrawn = out.format === 'table' && !out.fields
      const print = async () => {
        const { stats, byDay } = await read()
        if (isDrawn) for (const line of drawStats(name, stats, byDay, out.canvas)) out.line(line)
        else out.one(stats, flat(stats))
      }
      if (!watch) return print()
      if (!isDrawn || !hasScreen()) return repeated(context, redrawMs, print)
      await watchOnScreen(signal, redrawMs, async () => {
        const { stats, byDay } = await read()
        return ({ columns }) => drawStats(name, stats, byDay, { ...out.canvas, columns })
      })
    },
  }),
]
