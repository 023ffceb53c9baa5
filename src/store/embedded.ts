/**
 * The embedded PostgreSQL under a data folder, shared by every process that opens it. A cluster has one server, whatever
 * sees it: the kernel's lock on it lives as long as the server's processes do (embedded.lock.ts). The server runs as long
 * as it has users: each holds a connection with a shared advisory lock. Who leaves and then gets that lock for itself was
 * the last one, and stops the server meanwhile, so that a newcomer waits, loses its connection and starts it again.
 */
import { readFileSync } from 'node:fs'
import { type FileHandle, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Problem } from '../lib/problem.ts'
import { findBinaries } from './embedded.binaries.ts'
import { createCluster, findCluster, prepareFolder, readPassword, superuser, sweep } from './embedded.cluster.ts'
import { lockCluster } from './embedded.lock.ts'
import {
  isHere,
  type Postmaster,
  parsePidFile,
  pidFile,
  readPidFile,
  type Start,
  startPostmaster,
  stopPostmaster,
} from './embedded.postmaster.ts'
import { serverUser } from './embedded.user.ts'
import { singleLocks } from './locks.ts'

export interface Embedded {
  /** Where the server is now: a restarted one keeps it, unless another program took its port. */
  readonly url: string
  /** Leaves; the last user's stops the server and waits until it is gone. */
  close(): Promise<void>
}

export interface EmbeddedOptions {
  /** Server settings, in effect if this call is the one that starts the server. */
  settings?: Record<string, string>
  /** Another folder of PostgreSQL's binaries than the installed package's. */
  native?: string
  /** Called when `initdb`, or the server, has been started and is waited for: the process has time for something else. */
  onWaiting?: () => void
  /** Hears what becomes of a server that goes away: of its return, and of each new reason why it does not come back. */
  onRecovery?: (recovery: Recovery) => void
}

export interface Recovery {
  /** Since it went away. */
  ms: number
  /** Why it is not back, null where it is. */
  fault: Error | null
  /** It is back: whether this process started it, or found it started. */
  startedIt: boolean
  /** It is back: whether it has another port than before. */
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
/** Longer than a server that is here takes to answer, or the processes of a killed one take to leave. */
const unreachableMs = 5_000

/**
 * At the pid file's port another server may listen, even one that takes our password: that of a copy of the folder. The
 * right one finds the same pid file in its folder.
 */
const checkRun = async (client: pg.Client, { run }: Postmaster): Promise<void> => {
  const { rows } = await client.query('select pg_read_file($1, true) as text', [pidFile])
  if (parsePidFile(rows[0].text ?? '')?.run !== run) throw new Error('another server has its port')
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
  // A lost connection is told by 'end'; an 'error' that nobody hears would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await checkRun(client, server)
    await client.query('select pg_advisory_lock_shared($1)', [presenceKey])
    return { url, pgdata, client }
  } catch (error) {
    client.end().catch(() => undefined)
    throw error
  }
}

const wrongPassword = (folder: string) =>
  new Problem(
    'configuration',
    `The embedded database does not take the password in ${join(folder, 'postgres.password')}`,
  )

const outOfReach = (folder: string) =>
  new Problem(
    'configuration',
    `The embedded database in ${folder} is in use by another container, out of reach from here: stop svc there, share its network, or set DATABASE_URL to a PostgreSQL for both`,
  )

const start = async (folder: string, pgdata: string, lock: FileHandle, options: EmbeddedOptions): Promise<Start> => {
  await sweep(folder)
  const user = await serverUser(folder)
  const native = await findBinaries(folder, user, options.native)
  return startPostmaster(folder, pgdata, native, user, lock, options.settings)
}

const create = async (folder: string, options: EmbeddedOptions): Promise<string> =>
  createCluster(folder, await findBinaries(folder, await serverUser(folder), options.native), options.onWaiting)

/** Whether a server whose pid can't be judged from here has let `unreachableMs` pass without a connection. */
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
 * Connects as a user of the server, starting it as often as it takes within the time limit. Whoever gets the cluster's
 * lock starts it; where another has it, its server is shared.
 */
const enter = async (folder: string, options: EmbeddedOptions): Promise<Presence> => {
  const pgdata = (await findCluster(folder)) ?? (await create(folder, options))
  const password = await readPassword(folder)
  const deadline = performance.now() + openTimeoutMs
  const isOutOfReach = watchReach()
  let started: Start | undefined
  let reason = 'it takes no connections'
  while (performance.now() < deadline) {
    const server = await readPidFile(pgdata)
    const here = server !== undefined && (await isHere(server, pgdata))
    const lock = here || started?.running ? undefined : await lockCluster(pgdata)
    if (lock) {
      try {
        await started?.judge()
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

/** Gives the presence up and stops the server if it was the last. A lost connection has nothing to give up. */
const leave = async ({ client, pgdata }: Presence): Promise<void> => {
  const isLast = async (): Promise<boolean> => {
    await client.query('select pg_advisory_unlock_shared($1)', [presenceKey])
    const { rows } = await client.query('select pg_try_advisory_lock($1) as granted', [presenceKey])
    return rows[0].granted
  }
  const last = await isLast().catch(() => false)
  const server = last ? await readPidFile(pgdata) : undefined
  // One that can't be signalled from here is stopped by the last user that can.
  if (server && (await isHere(server, pgdata))) await stopPostmaster(server, pgdata)
  await client.end()
}

/**
 * Makes sure that the server of a data folder runs, and registers this process as a user of it until `close`. If the
 * server goes away meanwhile, this process starts it again. Problems: configuration (no build for this platform, a
 * folder that can't be written), unavailable (the server does not start). See cli.md, Running.
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
    let told: string | undefined
    const tell = (fault: Error | null) => {
      if (fault && fault.message === told) return
      told = fault?.message
      const back = { startedIt: presence.startedIt, moved: presence.url !== url }
      const ms = Math.round(performance.now() - since)
      options.onRecovery?.({ ms, fault, ...(fault ? { startedIt: false, moved: false } : back) })
    }
    while (!closing) {
      try {
        presence = await enter(folder, options)
        watch()
        return tell(null)
      } catch (error) {
        tell(error as Error)
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
 * Stops the server of a data folder, whoever uses it; a daemon that does starts it again. For `svc db stop`. A Problem of
 * kind configuration where it runs and can't be signalled from here.
 */
export const stopEmbedded = async (dataDir: string): Promise<'stopped' | 'not running'> => {
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

/** Where the server of a data folder is, for a process or a thread that uses it beside the one that opened it. */
export const embeddedUrl = (dataDir: string): string => {
  const read = (name: string) => readFileSync(join(dataDir, name), 'utf8')
  return urlOf(Number(read('postgres.port')), read('postgres.password'))
}
