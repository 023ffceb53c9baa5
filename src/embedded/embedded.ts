/**
 * The embedded PostgreSQL of a data folder, shared by every process that opens it (README.md in this folder). A cluster has at
 * most one server: the server's processes hold the kernel's lock on it (lock.ts). The server runs as long as it has users. Each
 * user holds a connection with a shared advisory lock. A user that leaves and then gets that lock exclusively was the last one:
 * it stops the server while it holds the lock, so that a new user waits, loses its connection and starts the server again.
 */
import { readFileSync } from 'node:fs'
import { type FileHandle, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { singleLocks } from '../lib/locks.ts'
import { Problem } from '../lib/problem.ts'
import { findBinaries } from './binaries.ts'
import { createCluster, findCluster, prepareFolder, readPassword, superuser, sweep } from './cluster.ts'
import { actAsOwner } from './folder.ts'
import { lockCluster } from './lock.ts'
import {
  isHere,
  type Postmaster,
  parsePidFile,
  pidFile,
  readPidFile,
  type Start,
  startPostmaster,
  stopPostmaster,
} from './postmaster.ts'
import { serverUser } from './user.ts'

export { findCluster, prepareFolder } from './cluster.ts'
export { lockExclusively } from './lock.ts'

export interface Embedded {
  /** The server's current URL. A restarted server keeps it, unless another program took its port. */
  readonly url: string
  /** Ends this process's use of the server. The last user stops the server and waits until it has ended. */
  close(): Promise<void>
}

export interface EmbeddedOptions {
  /** Server settings, which take effect if this call starts the server. */
  settings?: Record<string, string>
  /** A folder of PostgreSQL's binaries that replaces the installed package's. */
  native?: string
  /** Called when `initdb` or the server has been started and this call waits for it: the process can use the time. */
  onWaiting?: () => void
  /** Called after the server was lost: when it is back, and for each new reason why it can't be started. */
  onRecovery?: (recovery: Recovery) => void
}

export interface Recovery {
  /** Time since the server was lost. */
  ms: number
  /** Why the server is not back. It is null if it is back. */
  fault: Error | null
  /** Whether the server is back and this process started it. */
  startedIt: boolean
  /** Whether the server is back at another port. */
  moved: boolean
}

interface Presence {
  url: string
  pgdata: string
  client: pg.Client
  /** Whether this process started the server for it. */
  startedIt: boolean
}

const presenceKey = singleLocks.embeddedUsers
const openTimeoutMs = 20_000
const retryMs = 1_000
/** Longer than a reachable server takes to answer, or the processes of a killed one take to end. */
const unreachableMs = 5_000

/**
 * Checks that the server is the one of the pid file, and is not stopping: it finds the same pid file in its folder. Another server
 * may listen at that port, even one that accepts the password: the server of a copy of the folder.
 */
const checkRun = async (client: pg.Client, { run }: Postmaster): Promise<void> => {
  const { rows } = await client.query('select pg_read_file($1, true) as text', [pidFile])
  const server = parsePidFile(rows[0].text ?? '')
  if (server?.run !== run) throw new Error('another server has its port')
  if (!server.ready) throw new Error('it is stopping')
}

const urlOf = (port: number, password: string) => `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`

const connect = async (pgdata: string, server: Postmaster, password: string): Promise<Omit<Presence, 'startedIt'>> => {
  const url = urlOf(server.port, password)
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc presence',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 5_000,
    query_timeout: 10_000,
  })
  // A lost connection also emits 'end'. An 'error' without a listener would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await checkRun(client, server)
    await client.query('select pg_advisory_lock_shared($1)', [presenceKey])
    // Checked again: a server that is stopping may have ended the session of its last user, which held the lock, before this one.
    await checkRun(client, server)
    return { url, pgdata, client }
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
}

const wrongPassword = (folder: string) =>
  new Problem(
    'configuration',
    `The embedded database does not accept the password in ${join(folder, 'postgres.password')}`,
  )

const outOfReach = (folder: string) =>
  new Problem(
    'configuration',
    `The embedded database in ${folder} is in use by another container that can't be reached from here: stop svc there, share its network, or set DATABASE_URL to a PostgreSQL for both`,
  )

const start = async (folder: string, pgdata: string, lock: FileHandle, options: EmbeddedOptions): Promise<Start> => {
  await sweep(folder)
  const user = await serverUser(folder)
  const native = await findBinaries(folder, user, options.native)
  return startPostmaster(folder, pgdata, native, user, lock, options.settings)
}

const create = async (folder: string, options: EmbeddedOptions): Promise<string> =>
  createCluster(folder, await findBinaries(folder, await serverUser(folder), options.native), options.onWaiting)

/** Returns a function that says whether a server of another pid namespace has been unreachable for `unreachableMs`. */
const watchReach = () => {
  let run: string | undefined
  let since = 0
  return (server: Postmaster): boolean => {
    if (run !== server.run) since = performance.now()
    run = server.run
    return performance.now() - since > unreachableMs
  }
}

/**
 * Connects as a user of the server. The process that gets the cluster's lock starts the server, again if need be, within the time
 * limit; the others share its server. Throws Problem `unavailable` or `configuration`.
 */
const enter = async (folder: string, options: EmbeddedOptions): Promise<Presence> => {
  const pgdata = (await findCluster(folder)) ?? (await create(folder, options))
  const password = await readPassword(folder)
  const deadline = performance.now() + openTimeoutMs
  const isOutOfReach = watchReach()
  let started: Start | undefined
  let reason = 'it accepts no connections'
  while (performance.now() < deadline) {
    const server = await readPidFile(pgdata)
    const here = server !== undefined && (await isHere(server, pgdata))
    const lock = here || started?.running ? undefined : await lockCluster(pgdata)
    if (lock) {
      try {
        await started?.throwIfFatal()
        started = await start(folder, pgdata, lock, options)
        options.onWaiting?.()
      } finally {
        await lock.close()
      }
    } else if (server?.ready) {
      try {
        return { ...(await connect(pgdata, server, password)), startedIt: started !== undefined }
      } catch (error) {
        if (here && (error as pg.DatabaseError).code === '28P01') throw wrongPassword(folder)
        if (!here && isOutOfReach(server)) throw outOfReach(folder)
        reason = (error as Error).message
      }
    }
    await sleep(10)
  }
  throw new Problem('unavailable', `The embedded database in ${folder} can't be reached: ${reason}`)
}

/** Releases the shared lock, and stops the server if this was the last user. A lost connection holds no lock. */
const leave = async ({ client, pgdata }: Presence): Promise<void> => {
  const isLast = async (): Promise<boolean> => {
    await client.query('select pg_advisory_unlock_shared($1)', [presenceKey])
    const { rows } = await client.query('select pg_try_advisory_lock($1) as granted', [presenceKey])
    return rows[0].granted
  }
  const last = await isLast().catch(() => false)
  const server = last ? await readPidFile(pgdata) : undefined
  // A server that can't be signalled from here is stopped by the last user that can.
  if (server && (await isHere(server, pgdata))) await stopPostmaster(server, pgdata)
  await client.end()
}

/**
 * Starts the server of a data folder if it is not running, and registers this process as a user of it until `close`. If the
 * server is lost meanwhile, this process starts it again. Throws Problem `configuration` (no build for this platform, a folder
 * that can't be written) or `unavailable` (the server does not start). The contract is docs/reference/cli.md#database.
 */
export const openEmbedded = async (dataDir: string, options: EmbeddedOptions = {}): Promise<Embedded> => {
  const folder = await prepareFolder(dataDir)
  let presence = await enter(folder, options)
  let recovery: Promise<void> | undefined
  let closing: Promise<void> | undefined

  const watch = () => {
    presence.client.once('end', () => {
      if (!closing) recovery = recover()
    })
  }
  const recover = async (): Promise<void> => {
    const { url } = presence
    const since = performance.now()
    let reported: string | undefined
    const report = (fault: Error | null) => {
      if (fault && fault.message === reported) return
      reported = fault?.message
      const back = { startedIt: presence.startedIt, moved: presence.url !== url }
      const ms = Math.round(performance.now() - since)
      options.onRecovery?.({ ms, fault, ...(fault ? { startedIt: false, moved: false } : back) })
    }
    while (!closing) {
      try {
        presence = await enter(folder, options)
        watch()
        return report(null)
      } catch (error) {
        report(error as Error)
        await sleep(retryMs)
      }
    }
  }
  const close = async (): Promise<void> => {
    await recovery
    await leave(presence)
  }

  watch()
  return {
    get url() {
      return presence.url
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/**
 * Stops the server of a data folder, for `svc db stop`. A daemon that uses the server starts it again. Throws Problem
 * `configuration` if the server runs and can't be signalled from here.
 */
export const stopEmbedded = async (dataDir: string): Promise<'stopped' | 'not running'> => {
  actAsOwner(dataDir)
  const folder = await realpath(dataDir).catch(() => undefined)
  const pgdata = folder && (await findCluster(folder))
  if (!pgdata) return 'not running'
  const deadline = performance.now() + unreachableMs
  while (performance.now() < deadline) {
    const server = await readPidFile(pgdata)
    if (!server) return 'not running'
    if (await isHere(server, pgdata)) {
      await stopPostmaster(server, pgdata)
      return 'stopped'
    }
    const lock = await lockCluster(pgdata)
    await lock?.close()
    if (lock) return 'not running'
    await sleep(10)
  }
  throw outOfReach(folder)
}

/** Returns the URL of a data folder's server, for a process or thread that uses it beside the one that opened it. */
export const embeddedUrl = (dataDir: string): string => {
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8')
  return urlOf(Number(read('postgres.port')), read('postgres.password'))
}
