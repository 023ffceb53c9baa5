import { deliveryStatuses } from '../../deliveries/deliveries.find.ts'
import { idAt } from '../../lib/ids.ts'
import { messageStatuses } from '../../messages/messages.shapes.ts'
import { nearLimits } from '../../quotas/quotas.ts'
import type { Sql } from '../../store/database.ts'
import { readProcesses } from '../../store/processes.ts'
import { schemaState } from '../../store/schema.ts'
import type { OpenApp } from '../app.ts'
import { schedule } from '../jobs.ts'
import { type QueueDepth, readQueues } from '../queues.ts'

const hourMs = 3_600_000
/** An account is near a limit from this share of it on; so many are shown at most. */
const nearShare = 0.8
const mostNear = 20

/** What `svc status --json` prints; times in epoch ms. */
export interface Status {
  version: string
  schema: { applied: number; pending: string[] }
  /** Its size in bytes. */
  database: { at: string; version: string; size: number }
  daemons: { process: string; connectedAt: number; api: boolean; jobs: string[] }[]
  /** This and the rest: null where the schema is behind, so that there is no telling. */
  queues: QueueDepth[] | null
  /** What was made within the last hour, by where it stands now. */
  lastHour: { deliveries: Record<string, number>; sends: Record<string, number> } | null
  nearLimits: { accountId: string; account: string; quota: string; used: number; limit: number | null }[] | null
}

/** Where the database is, without user and password. */
export const databasePlace = ({ config, databaseUrl }: Pick<OpenApp, 'config' | 'databaseUrl'>): string =>
  config.databaseUrl === null ? `embedded in ${config.dataDir}` : new URL(databaseUrl).host

// What of an account is that young is found by its key, however long its history.
const outcomesOf = async (
  sql: Sql,
  relation: 'deliveries' | 'messages',
  since: string,
  statuses: readonly string[],
) => {
  const rows = await sql<{ status: string; count: number }>(
    `select d.status, sum(d.count)::int8 as count from accounts a cross join lateral (
       select status, count(*) as count from ${relation} where account_id = a.id and id >= $1 group by status
     ) d group by d.status`,
    [since],
  )
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
  return Object.fromEntries(statuses.map((status) => [status, counts[status] ?? 0]))
}

const readWork = async (app: OpenApp): Promise<Pick<Status, 'queues' | 'lastHour' | 'nearLimits'>> => {
  const { sql } = app
  const now = app.now()
  const sinceMs = now.getTime() - hourMs
  const [queues, deliveries, sends, near] = await Promise.all([
    readQueues(app),
    outcomesOf(sql, 'deliveries', idAt('dlv', sinceMs), deliveryStatuses),
    outcomesOf(sql, 'messages', idAt('msg', sinceMs), messageStatuses),
    nearLimits({ sql, now }, nearShare, mostNear),
  ])
  return { queues, lastHour: { deliveries, sends }, nearLimits: near }
}

const untold = { queues: null, lastHour: null, nearLimits: null }

/** All that `svc status` shows; of a database whose schema is behind as much as can be told (cli.md, Commands). */
export const readStatus = async (app: OpenApp, version: string): Promise<Status> => {
  const schema = await schemaState(app.database)
  const [server] = await app.sql<{ version: string; size: number }>(
    `select current_setting('server_version') as version, pg_database_size(current_database()) as size`,
  )
  const processes = await readProcesses(app.sql)
  return {
    version,
    schema: { applied: schema.applied.length, pending: schema.pending },
    database: { at: databasePlace(app), ...server! },
    daemons: processes
      .filter(({ parts }) => parts.includes('daemon') || parts.includes('jobs'))
      .map(({ process, connectedAt, parts }) => ({
        process,
        connectedAt,
        api: parts.includes('daemon'),
        jobs: parts.filter((part) => schedule.some(({ name }) => name === part)),
      })),
    ...(schema.pending.length === 0 ? await readWork(app) : untold),
  }
}
