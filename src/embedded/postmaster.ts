import { execFile, spawn } from 'node:child_process'
import { constants, type FileHandle, open, readFile, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { changePort, errorLine, readPort } from './cluster.ts'
import { asOtherThanRoot, type ServerUser, spawnOptions, unsupported, unwritable } from './user.ts'

export interface Postmaster {
  pid: number
  port: number
  /** It accepts connections: it is not starting, recovering or stopping. */
  ready: boolean
  /** Identifies this run of this cluster's server. */
  run: string
}

/** Relative to the working directory of all processes of the server. */
export const pidFile = 'postmaster.pid'

/**
 * Parses a pid file; returns undefined if it has no pid. Its lines: pid, data directory, start time, port, socket directory,
 * address, shared memory, status. The pid is meaningful only if `isHere`.
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

/** Returns whether the process works in the folder, or undefined if that is unknown: no /proc, or a root without CAP_SYS_PTRACE, as in containers. */
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
 * Whether the pid, in this process's pid namespace, is a process of this cluster's server, which may be signalled. False proves
 * nothing: in another container the server has another pid, or an invisible one. The process is recognised by its working
 * directory or, if that can't be read, by its command line.
 */
export const isHere = async ({ pid }: Postmaster, pgdata: string): Promise<boolean> =>
  (await worksIn(pid, pgdata)) ??
  commandLine(pid).then(
    (text) => text.includes(`postgres -D ${pgdata} -p `),
    () => false,
  )

/** Settings that operators need not choose. The log gets no statements, because they contain personal data. */
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

/** A server process that this process started, until it listens or has ended. */
export interface Start {
  running: boolean
  /** Throws Problem `unavailable` with the server's last error if another try would fail too. */
  throwIfFatal(): Promise<void>
}

const isFull = async (folder: string): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize < 1_000_000
}

const portTaken = /TCP\/IP sockets/
const maxLogBytes = 1_000_000

const openLog = async (folder: string) => {
  const path = join(folder, 'postgres.log')
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
  const log = await open(path, flags, 0o600).catch((error) => {
    throw unwritable(path, error.code)
  })
  if ((await log.stat()).size > maxLogBytes) await log.truncate()
  return log
}

/**
 * Starts the server in a session of its own, so that it outlives this process; it logs to `postgres.log`. The server inherits
 * `lock`, the cluster's lock; the caller closes its own handle. While this process holds the lock, no process of a server is
 * left, so the pid file belongs to a dead server even if another program has its pid now. While another process holds the lock,
 * the pid file belongs to that server.
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
  const command = [join(native, 'bin/postgres'), '-D', pgdata, '-p', String(port), ...flags]
  const [program, ...args] = await asOtherThanRoot(command, user)
  const child = spawn(program!, args, {
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
    async throwIfFatal() {
      if (fault?.code === 'ENOENT') throw unsupported()
      const logged = (await readFile(join(folder, 'postgres.log'))).subarray(size).toString()
      // If the startup process fails, the server ends, and only that process logs why. Connections that are refused log errors, too.
      const [, startup = child.pid] = /startup process \(PID (\d+)\)/.exec(logged) ?? []
      const own = logged.split('\n').filter((line) => line.includes(`[${startup}]`))
      const line = fault?.message ?? errorLine(own.length ? own.join('\n') : logged)
      // With its time and pid the same reason would look like a new one at each try.
      const reason = line.replace(/^\S+ \S+ UTC \[\d+\] /, '')
      // A server on a full disk often can't log that. Elsewhere it names it, such as where the next file of its WAL does not fit.
      const isOut = reason.includes('No space left') || (await isFull(folder))
      const last = isOut ? `the disk of ${folder} is full` : reason
      if (portTaken.test(last)) await changePort(folder)
      else if (fault || child.exitCode)
        throw new Problem(
          'unavailable',
          `The embedded database does not start: ${last || `it ended with ${child.exitCode}`}`,
        )
    },
  }
}

/**
 * Requests a fast shutdown, which closes connections, and waits up to 30 s until the server has ended. It is only for a server
 * that `isHere`.
 */
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
