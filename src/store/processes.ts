import { hash } from 'node:crypto'
import { hostname } from 'node:os'
import type { RowOf } from './column-types.ts'
import type { Sql } from './database.ts'
import { statement } from './statement.ts'

/*
 * Operators want to know which daemons run, and a table of processes would be wrong after a kill. So processes are found by their
 * connections: each has its purpose and its process in its application_name. A daemon always has a connection, because it reads the
 * database's clock more often than idle connections are closed. Behind a pooler that hides its clients, daemons can't be told apart.
 */

/** PostgreSQL truncates an application_name to 63 characters, which also hold the version and the token of the connection. */
const hostLength = 22
const shortHost = (name: string): string =>
  name.length <= hostLength ? name : `${name.slice(0, hostLength - 7)}~${hash('sha256', name).slice(0, 6)}`

/** `4242@web-1`: identifies this process, with its threads. */
const thisProcess = `${process.pid}@${shortHost(hostname())}`

/**
 * Returns the application_name of this process's connections for `part` (`svc mail`): `svc mail 4242@web-1`. Daemons add their
 * version: `svc daemon 4242@web-1 1.2.0`. Those that do not are of versions that can't work on a newer schema.
 */
export const connectionName = (part: string, version?: string): string =>
  [part, thisProcess, ...(version === undefined ? [] : [version.slice(0, 10)])].join(' ')

const processTypes = {
  /** `<pid>@<host>` */
  process: 'text',
  /** The purposes of its connections, sorted: `daemon`, `jobs`, `cli`, or the name of a job. */
  parts: '_text',
  /**
   * Parts that have begun no statement for `silentSeconds`, as far as the server lets this session see it; probes of idle
   * connections do not count. The job of a queue sends a statement every two seconds, so a silent one is stalled.
   */
  silent: '_text',
  /** When the oldest of its connections was opened; epoch ms. */
  connectedAt: 'int8',
  /** The version of a daemon. It is null for a version that does not report it, and for other processes. */
  version: 'text?',
} as const

type ConnectedProcess = RowOf<typeof processTypes>

/** A worker sends a heartbeat every 2 s; jobs.states.ts has the same bound. */
const silentSeconds = 15

const connectedProcesses = statement(
  'connected-processes',
  { row: processTypes },
  `select process, array_agg(part order by part) as parts,
     coalesce(array_agg(part order by part) filter (where asked_at < clock_timestamp() - interval '${silentSeconds} s'), '{}') as silent,
     floor(extract(epoch from min(connected_at)) * 1000)::int8 as "connectedAt",
     max(version) as version
   from (
     select split_part(application_name, ' ', 3) as process, split_part(application_name, ' ', 2) as part,
       max(version.text) as version, min(backend_start) as connected_at, max(query_start) filter (where query <> '') as asked_at
     from pg_stat_activity
     -- The token of a connection, which is last, has no dot.
     left join lateral (select split_part(application_name, ' ', 4) as text) version on position('.' in version.text) > 0
     where datname = current_database() and application_name ~ '^svc [a-z]+ [0-9]+@'
     group by process, part
   ) p group by process order by min(connected_at), process`,
)

/** Returns the processes of svc that are connected to this database, including this one; the longest connected first. */
export const readProcesses = (sql: Sql): Promise<ConnectedProcess[]> => sql(connectedProcesses)

/** Returns the other processes: for operations that need the database to themselves. */
export const readOtherProcesses = async (sql: Sql): Promise<ConnectedProcess[]> =>
  (await readProcesses(sql)).filter(({ process }) => process !== thisProcess)
