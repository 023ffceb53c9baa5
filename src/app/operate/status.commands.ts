import { type CommandList, command } from '../../cli/define.ts'
import { drawObject, relative, span } from '../../cli/draw/draw.ts'
import { present } from '../../cli/flags.ts'
import type { Cell } from '../../cli/output.ts'
import { hasScreen, repeated, watchOnScreen } from '../../cli/screen.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { OpenApp } from '../app.ts'
import type { Status } from './status.ts'

const redrawMs = 2000

const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([name, count]) => `${number(count)} ${name}`)
    .join(', ')

const daemonText = ({ version, api, jobs, stalled, connectedAt }: Status['daemons'][number]): string =>
  [
    version,
    api ? 'API' : null,
    jobs.length > 0 ? `jobs ${jobs.map((job) => (stalled.includes(job) ? `${job} (stalled)` : job)).join(', ')}` : null,
    `connected ${relative(new Date(connectedAt), Date.now())}`,
  ]
    .filter(Boolean)
    .join('; ')

const schemaText = ({ applied, pending, unknown }: Status['schema']): string => {
  if (unknown) return 'newer than this version of svc'
  return pending.length > 0
    ? `behind by ${quantity(pending.length, 'migration')}`
    : `up to date, ${quantity(applied, 'migration')}`
}

/** Returns the status as lines for people. Daemons, queues and limits have their name in the label. */
const shown = (status: Status): Record<string, Cell> => {
  const { schema, database, daemons, queues, lastHour, nearLimits } = status
  return {
    version: status.version,
    schema: schemaText(schema),
    database: `${database.at}, PostgreSQL ${database.version}, ${number(Math.ceil(database.size / 1e6))} MB`,
    ...(daemons.length === 0 && { daemons: 'none is connected' }),
    ...Object.fromEntries(daemons.map((daemon) => [`daemon ${daemon.process}`, daemonText(daemon)])),
    ...Object.fromEntries(
      (queues ?? []).map(({ queue, depth, oldestSeconds, pausedAt }) => [
        `queue ${queue}`,
        `${pausedAt === null ? '' : 'paused; '}${number(depth)} due${
          depth > 0 ? `, the oldest for ${number(Math.round(oldestSeconds))} s` : ''
        }`,
      ]),
    ),
    ...Object.fromEntries(Object.entries(lastHour ?? {}).map(([kind, of]) => [`${kind} of the last hour`, counts(of)])),
    ...Object.fromEntries(
      (nearLimits ?? []).map(({ account, quota, used, limit }) => [
        `near its limit: ${account}, ${quota}`,
        `${number(used)} of ${number(limit ?? 0)}`,
      ]),
    ),
  }
}

/** Returns the status for a terminal, with the offset of the development clock. */
const forPeople = (app: Pick<OpenApp, 'systemNow'>, status: Status): Record<string, Cell> => {
  const aheadMs = app.systemNow().getTime() - Date.now()
  return { ...shown(status), ...(aheadMs > 0 && { clock: `${span(aheadMs)} ahead: svc clock reset` }) }
}

/** The command `svc status [--watch]` (docs/reference/cli.md#status-doctor-and-config). */
export const commands: CommandList = [
  command({
    path: 'status',
    examples: ['svc status', 'svc status --watch'],
    flags: { watch: present('refresh every two seconds until q (on a terminal) or Ctrl-C') },
    app: 'none',
    run: async (context, options) => {
      const { out, exit } = context
      const { openForInspection } = await import('../open.ts')
      const { readStatus } = await import('./status.ts')
      const { version } = await import('../../cli/version.ts')
      const app = await openForInspection()
      const read = () => readStatus(app, version())
      const draw = async () => {
        const status = await read()
        out.one(status, out.format === 'table' ? forPeople(app, status) : shown(status))
        if (status.queues === null) exit(7)
      }
      try {
        if (!options.watch) await draw()
        else if (out.format === 'table' && !out.fields && hasScreen())
          await watchOnScreen(context.signal, redrawMs, async () => {
            const values = forPeople(app, await read())
            const isColoured = process.stdout.hasColors()
            return ({ columns }) => drawObject({ columns, isColoured, isWide: false, now: Date.now }, values)
          })
        else await repeated(context, redrawMs, draw)
      } finally {
        await app.close()
      }
    },
  }),
]
