import { execFile, spawn } from 'node:child_process'
import { type FileHandle, open, readFile, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { changePort, complaint, readPort } from './embedded.cluster.ts'
import { isRoot, type ServerUser, spawnOptions, unsupported } from './embedded.user.ts'

export interface Postmaster {
  pid: number
  port: number
  /** It takes connections: neither starting, nor recovering, nor stopping. */
  ready: boolean
  /** Tells this run of this cluster's server from any other. */
  run: string
}

/** Relative to the folder that every process of the server works in. */
export const pidFile = 'postmaster.pid'

/**
 * What a pid file says, undefined where it says nothing. Its lines: pid, data directory, start time, port, socket
 * directory, address, shared memory, status. The pid means something only where `isHere`.
 */
export const parsePidFile = (text: string): Postmaster | undefined => {
  const lines = text.split('\n')
  // PostgreSQL's single-user mode writes its pid with a minus.
  const pid = Math.abs(Number(lines[0]))
  if (!(pid > 0)) return undefined
  const run = lines.slice(0, 7).join('\n')
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready', run }
}

export const readPidFile = async (pgdata: string): Promise<Postmaster | undefined> =>
  parsePidFile(await readFile(join(pgdata, pidFile), 'utf8').catch(() => ''))

const commandLine = (pid: number): Promise<string> =>
  process.platform === 'linux'
    ? readFile(`/proc/${pid}/cmdline`, 'utf8').then((text) => text.replaceAll('\0', ' '))
    : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout)

/** Undefined where it can't be told: no /proc, or not for root without CAP_SYS_PTRACE, as containers have it. */
const worksIn = async (pid: number, folder: string): Promise<boolean | undefined> => {
  const identity = (path: string) => stat(path, { bigint: true })
  try {
    const [one, other] = await Promise.all([identity(`/proc/${pid}/cwd`), identity(folder)])
    return one.dev === other.dev && one.ino === other.ino
  } catch {
    return undefined
  }
}

/**
 * Whether the pid, as seen from here, is a process of this cluster's server, which may be signalled. No proves nothing:
 * in a container of its own the server has another pid, or none that can be seen. The folder that the process works in
 * tells it under any name, the command line where that can't be read.
 */
export const isHere = async ({ pid }: Postmaster, pgdata: string): Promise<boolean> =>
  (await worksIn(pid, pgdata)) ??
  commandLine(pid).then(
    (text) => text.includes(`postgres -D ${pgdata} -p `),
    () => false,
  )

/** What the operator has no need to choose. The log gets no statements: they hold personal data. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
}

/** A server process that this process started, until it listens or is gone. */
export interface Start {
  running: boolean
  /** Throws a Problem with the last word of the server if another try is of no use. */
  judge(): Promise<void>
}

const isFull = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize < 1_000_000
}

const portTaken = /TCP\/IP sockets/
const maxLogBytes = 1_000_000

const openLog = async (folder: string) => {
  const log = await open(join(folder, 'postgres.log'), 'a', 0o600)
  const { uid, gid } = await stat(folder)
  if (isRoot()) await log.chown(uid, gid)
  if ((await log.stat()).size > maxLogBytes) await log.truncate()
  return log
}

/**
 * Starts the server in a session of its own, so that it outlives this process; it writes to `postgres.log`. Takes the
 * cluster's lock, which the server inherits; the caller closes its own hold on it. Held, the lock proves that no process
 * of a server is left, so a pid file is a dead one's, whoever has its pid today; while it is held by another, the pid
 * file is the holder's.
 */
export const startPostmaster = async (
  folder: string,
  pgdata: string,
  native: string,
  user: ServerUser | undefined,
  lock: FileHandle,
  extra: Record<string, string> = {},
): Promise<Start> => {
  await rm(join(pgdata, pidFile), { force: true })
  const port = await readPort(folder)
  const flags = Object.entries({ ...settings, ...extra }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = await openLog(folder)
  const { size } = await log.stat()
  const child = spawn(join(native, 'bin/postgres'), ['-D', pgdata, '-p', String(port), ...flags], {
    ...spawnOptions(user),
    detached: true,
    stdio: ['ignore', log.fd, log.fd, lock.fd],
  })
  child.unref()
  await log.close()
  let fault: NodeJS.ErrnoException | undefined
  child.once('error', (error) => {
    fault = error
  })
  return {
    get running() {
      return !fault && child.exitCode === null && child.signalCode === null
    },
    async judge() {
      if (fault?.code === 'ENOENT') throw unsupported()
      const said = (await readFile(join(folder, 'postgres.log'))).subarray(size).toString()
      const own = said.split('\n').filter((line) => line.includes(`[${child.pid}]`))
      const line = fault?.message ?? complaint(own.length ? own.join('\n') : said)
      // Its time and pid would make the same reason look like another one at each try.
      const word = line.replace(/^\S+ \S+ UTC \[\d+\] /, '')
      // On a full disk there is often no room to say so.
      const last = (await isFull(folder)) ? `the disk of ${folder} is full ${word && `(${word})`}`.trim() : word
      if (portTaken.test(last)) await changePort(folder)
      else if (fault || child.exitCode)
        throw new Problem(
          'unavailable',
          `The embedded database does not start: ${last || `it ended with ${child.exitCode}`}`,
        )
    },
  }
}

/** Asks a server that is here for a fast shutdown, which breaks connections off, and waits up to 30 s until it is gone. */
export const stopPostmaster = async (server: Postmaster, pgdata: string): Promise<void> => {
  try {
    process.kill(server.pid, 'SIGINT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  const deadline = performance.now() + 30_000
  while (await isHere(server, pgdata)) {
    if (performance.now() > deadline) throw new Problem('unavailable', 'The embedded database is still stopping')
    await sleep(5)
  }
}
