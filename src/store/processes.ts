import { hostname } from 'node:os'
import type { Sql } from './database.ts'

/*
 * Processes are seen by their connections: each says in its application_name what it does and for which process. A daemon
 * has one at any time, since it looks at the database's clock more often than idle ones are closed.
 */

/** `4242@web-1`: this process, with its threads, among all that share the database. PostgreSQL cuts a name at 63 characters. */
const thisProcess = `${process.pid}@${hostname().slice(0, 30)}`

/** The application_name of this process's connections that do `part` (`svc mail`): `svc mail 4242@web-1`. */
export const connectionName = (part: string): string => `${part} ${thisProcess}`

export interface ConnectedProcess {
  /** `<pid>@<host>` */
  process: string
  /** What its connections are for, in order of the alphabet: `daemon`, `jobs`, `cli`, or the name of a job. */
  parts: string[]
  /** Since when the oldest of its connections stands; epoch ms. */
  connectedAt: number
}

/** The processes of ours that are connected to this database, this one as well; the longest connected first. */
export const readProcesses = (sql: Sql): Promise<ConnectedProcess[]> =>
  sql<ConnectedProcess>(
    `select split_part(application_name, ' ', 3) as process,
       array_agg(distinct split_part(application_name, ' ', 2)) as parts,
       floor(extract(epoch from min(backend_start)) * 1000)::int8 as "connectedAt"
     from pg_stat_activity where datname = current_database() and application_name ~ '^svc [a-z]+ [0-9]+@'
     group by process order by min(backend_start), process`,
  )

/** The others, for who must be alone with the database. */
export const readOtherProcesses = async (sql: Sql): Promise<ConnectedProcess[]> =>
  (await readProcesses(sql)).filter(({ process }) => process !== thisProcess)
