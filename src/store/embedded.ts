/**
 * The embedded PostgreSQL under a data folder, shared by every process that opens it, without a lock file: each user
 * holds a connection with a shared advisory lock. Who leaves and then gets the lock for itself was the last one, and
 * stops the server while it holds the lock, so that a newcomer waits, loses its connection and starts it again.
 */
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Problem } from '../lib/problem.ts'
import { findBinaries } from './embedded.binaries.ts'
import { createCluster, findCluster, prepareFolder, readPassword, superuser, sweep } from './embedded.cluster.ts'
import { findPostmaster, type Start, startPostmaster, stopPostmaster } from './embedded.postmaster.ts'
import { serverUser } from './embedded.user.ts'

export interface Embedded {
  /** For clients in this process. A restarted server keeps it, unless another program took its port. */
  readonly url: string
  /** Leaves; the last user's stops the server and waits until it is gone. */
  close(): Promise<void>
}

export interface EmbeddedOptions {
  /** Server settings, in effect if this call is the one that starts the server. */
  settings?: Record<string, string>
  /** Another folder of PostgreSQL's binaries than the installed package's. */
  native?: string
}

interface Presence {
  url: string
  pgdata: string
  client: pg.Client
}

const presenceKey = 7_566_947
const openTimeoutMs = 20_000
const retryMs = 1_000

const connect = async (pgdata: string, port: number, password: string): Promise<Presence> => {
  const url = `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc presence',
    connectionTimeoutMillis: 5_000,
    statement_timeout: 5_000,
  })
  // A lost connection is told by 'end'; an 'error' that nobody hears would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
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

const start = async (folder: string, pgdata: string, options: EmbeddedOptions): Promise<Start> => {
  await sweep(folder)
  const user = await serverUser(folder)
  const native = await findBinaries(folder, user, options.native)
  return startPostmaster(folder, pgdata, native, user, options.settings)
}

const create = async (folder: string, options: EmbeddedOptions): Promise<string> =>
  createCluster(folder, await findBinaries(folder, await serverUser(folder), options.native))

/** Connects as a user of the server, starting it as often as it takes within the time limit. */
const enter = async (folder: string, options: EmbeddedOptions): Promise<Presence> => {
  const pgdata = (await findCluster(folder)) ?? (await create(folder, options))
  const password = await readPassword(folder)
  const deadline = performance.now() + openTimeoutMs
  let started: Start | undefined
  let reason = 'it takes no connections'
  while (performance.now() < deadline) {
    const server = await findPostmaster(pgdata)
    if (server?.ready) {
      try {
        return await connect(pgdata, server.port, password)
      } catch (error) {
        if ((error as pg.DatabaseError).code === '28P01') throw wrongPassword(folder)
        reason = (error as Error).message
      }
    } else if (!server && !started?.running) {
      await started?.judge()
      started = await start(folder, pgdata, options)
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
  const server = last ? await findPostmaster(pgdata) : undefined
  if (server) await stopPostmaster(server.pid, pgdata)
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
    while (!closing) {
      try {
        presence = await enter(folder, options)
        return watch()
      } catch {
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

/** Stops the server of a data folder, whoever uses it; a daemon that does starts it again. For `svc db stop`. */
export const stopEmbedded = async (dataDir: string): Promise<'stopped' | 'not running'> => {
  const folder = await realpath(dataDir).catch(() => undefined)
  const pgdata = folder && (await findCluster(folder))
  const server = pgdata && (await findPostmaster(pgdata))
  if (!server) return 'not running'
  await stopPostmaster(server.pid, pgdata)
  return 'stopped'
}
