import { nearLimits } from '../../accounts/accounts.ts'
import { countDeliveriesSince } from '../../deliveries/deliveries.ts'
import { countMessagesSince } from '../../messages/messages.ts'
import { readProcesses } from '../../store/processes.ts'
import { describeServer, schemaProblem, schemaState } from '../../store/schema.ts'
import type { OpenApp } from '../app.ts'
import { type QueueDepth, readQueues } from '../queue-depths.ts'
import { threads } from '../schedule.ts'

const hourMs = 3_600_000
/** An account is near a limit from this share of it on; at most `mostNear` are shown. */
const nearShare = 0.8
const mostNear = 20

/** What `svc status --json` prints; times in epoch ms. */
export interface Status {
  version: string
  /** `unknown` are the migrations of a later version that this one can't work with, if there are any. */
  schema: { applied: number; pending: string[]; unknown?: string[] }
  /** Its size in bytes. */
  database: { at: string; version: string; size: number }
  /** `stalled` are the jobs without a statement for 15 s (`/readyz`). */
  daemons: {
    process: string
    version: string | null
    connectedAt: number
    api: boolean
    jobs: string[]
    stalled: string[]
  }[]
  /** This property and the following ones are null if the schema does not fit, since the queries need the current schema. */
  queues: QueueDepth[] | null
  /** Deliveries and messages of the last hour, by their current status. */
  lastHour: { deliveries: Record<string, number>; sends: Record<string, number> } | null
  nearLimits: { accountId: string; account: string; quota: string; used: number; limit: number | null }[] | null
}

/** Returns where the database is, without user and password. */
export const databasePlace = ({ config, databaseUrl }: Pick<OpenApp, 'config' | 'databaseUrl'>): string =>
  config.databaseUrl === null ? `embedded in ${config.dataDir}` : new URL(databaseUrl).host

const readWork = async (app: OpenApp): Promise<Pick<Status, 'queues' | 'lastHour' | 'nearLimits'>> => {
  const { sql } = app
  const now = app.now()
  const sinceMs = now.getTime() - hourMs
  const [queues, deliveries, sends, near] = await Promise.all([
    readQueues(app),
    countDeliveriesSince(sql, sinceMs),
    countMessagesSince(sql, sinceMs),
    nearLimits({ sql, now }, nearShare, mostNear),
  ])
  return { queues, lastHour: { deliveries, sends }, nearLimits: near }
}

const unknownWork = { queues: null, lastHour: null, nearLimits: null }

/** Returns what `svc status` shows; less if the schema does not fit (docs/reference/cli.md#status-doctor-and-config). */
export const readStatus = async (app: OpenApp, version: string): Promise<Status> => {
  const schema = await schemaState(app.database)
  const server = await describeServer(app)
  const processes = await readProcesses(app.sql)
  return {
    version,
    schema: {
      applied: schema.applied.length,
      pending: schema.pending,
      ...(schema.incompatible.length > 0 && { unknown: schema.incompatible }),
    },
    database: { at: databasePlace(app), ...server },
    daemons: processes
      .filter(({ parts }) => parts.includes('daemon') || parts.includes('jobs'))
      .map(({ process, version: of, connectedAt, parts, silent }) => ({
        process,
        version: of,
        connectedAt,
        api: parts.includes('daemon'),
        jobs: parts.filter((part) => threads.some(({ name }) => name === part)),
        stalled: silent.filter((part) => threads.some(({ name, interval }) => name === part && !interval)),
      })),
    ...(schemaProblem(schema) === null ? await readWork(app) : unknownWork),
  }
}
