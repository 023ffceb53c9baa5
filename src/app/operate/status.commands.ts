import { setTimeout as sleep } from 'node:timers/promises'
import { relative } from '../../cli/cells.ts'
import type { CommandSet, Context } from '../../cli/command.ts'
import type { Cell } from '../../cli/output.ts'
import type { Status } from './status.ts'

const redrawMs = 2000

const number = (value: number): string => value.toLocaleString('en')
const counts = (of: Readonly<Record<string, number>>): string =>
  Object.entries(of)
    .map(([name, count]) => `${number(count)} ${name}`)
    .join(', ')

const daemonText = ({ api, jobs, connectedAt }: Status['daemons'][number]): string =>
  [
    api ? 'API' : null,
    jobs.length > 0 ? `jobs ${jobs.join(', ')}` : null,
    `connected ${relative(new Date(connectedAt), Date.now())}`,
  ]
    .filter(Boolean)
    .join('; ')

/** As lines for people: what there is several of has its name in the line's. */
const shown = (status: Status): Record<string, Cell> => {
  const { schema, database, daemons, queues, lastHour, nearLimits } = status
  const behind = schema.pending.length
  return {
    version: status.version,
    schema: behind > 0 ? `behind by ${behind} migration(s)` : `up to date, ${schema.applied} migrations`,
    database: `${database.at}, PostgreSQL ${database.version}, ${number(Math.ceil(database.size / 1e6))} MB`,
    ...(daemons.length === 0 && { daemons: 'none is connected' }),
    ...Object.fromEntries(daemons.map((daemon) => [`daemon ${daemon.process}`, daemonText(daemon)])),
    ...Object.fromEntries(
      (queues ?? []).map(({ queue, depth, oldestSeconds }) => [
        `queue ${queue}`,
        `${number(depth)} due${depth > 0 ? `, the oldest for ${number(Math.round(oldestSeconds))} s` : ''}`,
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

const watch = async ({ out, signal }: Context, draw: () => Promise<void>): Promise<void> => {
  const { isUnavailable } = await import('../../store/database.ts')
  while (!signal.aborted) {
    await draw().catch((error) => {
      if (!isUnavailable(error)) throw error
      out.note('The database is not available')
    })
    await sleep(redrawMs, undefined, { signal }).catch(() => {})
  }
}

/** `svc status [--watch]` (cli.md, Commands). */
export const commands: CommandSet = (cli) => {
  cli
    .noun('status')
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .action(
      cli.run(
        async (context, options: { watch?: boolean }) => {
          const { out, exit } = context
          const [{ openToLook }, { readStatus }, { version }] = await Promise.all([
            import('./open.ts'),
            import('./status.ts'),
            import('../../cli/program.ts'),
          ])
          const app = await openToLook()
          const draw = async () => {
            const status = await readStatus(app, version())
            if (options.watch && out.format === 'table') process.stdout.write('\u001b[2J\u001b[H')
            out.one(status, shown(status))
            if (status.schema.pending.length > 0) exit(7)
          }
          try {
            await (options.watch ? watch(context, draw) : draw())
          } finally {
            await app.close()
          }
        },
        { app: 'none' },
      ),
    )
}
