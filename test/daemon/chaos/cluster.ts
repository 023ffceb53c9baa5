import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { findBinaries } from '../../../src/embedded/binaries.ts'
import { fromPasswd, isRoot, spawnOptions } from '../../../src/embedded/user.ts'
import { spawnInTest } from '../../support/children.ts'
import { freePort } from '../../support/daemon.ts'
import { limit } from '../../support/slowness.ts'
import type { Server } from './chaos.ts'
import type { Fault } from './faults.ts'

export interface Cluster extends Server {
  close(): Promise<void>
}

/** Ways to stop the server: `fast` ends its sessions, `immediate` relies on crash recovery, `crash` is kill -9. */
const signals = { fast: 'SIGINT', immediate: 'SIGQUIT', crash: 'SIGKILL' } as const
type Shutdown = keyof typeof signals

/** Acknowledged writes must survive a kill -9 of the server, but not a crash of the machine: fsync is off. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '500',
  timezone: 'UTC',
  fsync: 'off',
  synchronous_commit: 'on',
  log_min_error_statement: 'panic',
}

const restartLimitMs = limit(60_000)

const answers = async (url: string): Promise<boolean> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** Starts a separate PostgreSQL server, from the embedded binaries, in a temporary folder. */
export const openCluster = async (): Promise<Cluster> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-chaos-'))
  await chmod(folder, 0o755)
  const user = isRoot() ? await fromPasswd() : undefined
  const bin = join(await findBinaries(folder, user), 'bin')
  const data = join(folder, 'data')
  await mkdir(data)
  if (user) await chown(data, user.uid, user.gid)
  await promisify(execFile)(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'svc', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C'],
    spawnOptions(user),
  )
  const port = await freePort()
  const url = `postgres://svc@127.0.0.1:${port}/postgres`
  const args = ['-D', data, '-p', String(port), ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])]
  const log = createWriteStream(join(folder, 'postgres.log'), { mode: 0o600 })
  let server: ChildProcess

  // After kill -9 the old server's processes keep its shared memory until they notice; until then a start fails.
  const start = async (): Promise<void> => {
    for (const deadline = Date.now() + restartLimitMs; ; await sleep(50)) {
      const started = spawnInTest(join(bin, 'postgres'), args, spawnOptions(user))
      for (const stream of [started.stdout, started.stderr]) stream.pipe(log, { end: false })
      server = started
      const runs = () => server.exitCode === null && server.signalCode === null
      while (runs() && !(await answers(url))) await sleep(20)
      if (runs()) return
      if (Date.now() > deadline) throw new Error(`PostgreSQL does not start: see ${join(folder, 'postgres.log')}`)
    }
  }
  const stop = async (how: Shutdown) => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill(signals[how])
    await exited
  }
  let restarting = Promise.resolve()
  const restart: Fault = {
    name: 'restart server',
    async run({ random }) {
      const how = random.pick(Object.keys(signals) as Shutdown[])
      restarting = restarting.then(() => stop(how)).then(start)
      await restarting
      return how
    },
  }
  await start()
  return {
    url,
    log: () => readFile(join(folder, 'postgres.log'), 'utf8'),
    faults: [restart],
    async close() {
      await stop('immediate')
      log.end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
