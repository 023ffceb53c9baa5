import type { Progress } from '../../cli/progress.ts'
import { conflict } from '../../lib/problem.ts'
import { number, quantity } from '../../lib/quantity.ts'
import type { Database } from '../../store/database.ts'
import { loadMigration, planSteps, type Step } from '../../store/migrations.ts'
import { readProcesses } from '../../store/processes.ts'
import { migrate, schemaState } from '../../store/schema.ts'

/** A connected daemon. `version` is null for one that is too old to report it. */
interface ConnectedDaemon {
  pid: number
  host: string
  version: string | null
  /** Whether it can work with the schema after the migrations. */
  continues: boolean
}

/** What `svc db migrate` would do. */
interface Plan {
  applied: string[]
  pending: string[]
  steps: Step[]
  daemons: ConnectedDaemon[]
}

/**
 * Returns the connected daemons. Pending migrations are unknown to each of them, because a daemon starts only on a schema with all
 * migrations that it knows.
 */
export const readDaemons = async ({ sql }: Database, pending: readonly string[] = []): Promise<ConnectedDaemon[]> => {
  const classes = await Promise.all(pending.map(loadMigration))
  const isAdditive = classes.every(({ change }) => change === 'expand')
  const processes = await readProcesses(sql)
  return processes
    .filter(({ parts }) => parts.includes('daemon') || parts.includes('jobs'))
    .map(({ process, version }) => {
      const [pid, host] = process.split('@') as [string, string]
      const continues = pending.length === 0 || (isAdditive && version !== null)
      return { pid: Number(pid), host, version, continues }
    })
}

/** Returns how a message names a daemon. */
export const nameOf = ({ pid, host, version }: ConnectedDaemon): string =>
  `process ${pid} on ${host} (${version === null ? 'an older version' : `svc ${version}`})`

export const planOf = async (database: Database): Promise<Plan> => {
  const { pending } = await schemaState(database)
  const [steps, daemons] = await Promise.all([planSteps(database, pending), readDaemons(database, pending)])
  return { applied: [], pending, steps, daemons }
}

const stepText = ({ migration, change, online, statement, table, rows, seconds }: Step): string => {
  const how = `${migration} (${change}${online ? ', online' : ''})`
  if (table === null) return `${how}: at once`
  const [verb] = statement.trim().split(/\s/, 1)
  return `${how}: ${verb} … ${table}, ${quantity(rows, 'row')}, about ${number(seconds)} s`
}

export const shownPlan = ({ steps, daemons, ...plan }: Plan): Record<string, unknown> => ({
  ...plan,
  steps: steps.map(stepText),
  daemons: daemons.map((daemon) => `${nameOf(daemon)} ${daemon.continues ? 'continues' : 'must stop'}`),
})

interface Reporting {
  force: boolean
  note: (text: string) => void
  progress: (one: string) => Progress
}

/**
 * Applies the pending migrations and returns their names. Throws Problem `conflict` while a daemon is connected that can't work with
 * the new schema, unless `force`.
 */
export const migrateUnderDaemons = async (
  { database, databaseUrl }: { database: Database; databaseUrl: string },
  { force, note, progress }: Reporting,
): Promise<string[]> => {
  const { pending } = await schemaState(database)
  const stopping = (await readDaemons(database, pending)).filter(({ continues }) => !continues)
  if (stopping.length > 0 && !force)
    throw conflict(
      `${quantity(stopping.length, 'daemon')} can't work with the new schema: ${stopping.map(nameOf).join(', ')}`,
      { hint: 'stop them, then svc db migrate; --force migrates anyway' },
    )
  const rows = progress('row')
  try {
    return await migrate(database, databaseUrl, {
      onStep: ({ migrations, text, rows: done, total }) => {
        if (done !== undefined) return rows.update({ rows: done, fraction: total ? Math.min(1, done / total) : null })
        rows.stop()
        if (!process.stderr.isTTY) return
        const what = migrations.length === 1 ? migrations[0] : quantity(migrations.length, 'migration')
        note(`${what}: ${text.trim().replace(/\s+/g, ' ')}`)
      },
    })
  } finally {
    rows.stop()
  }
}
