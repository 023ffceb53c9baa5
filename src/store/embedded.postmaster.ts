import { execFile, spawn } from 'node:child_process'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Problem } from '../lib/problem.ts'
import { unsupported } from './embedded.binaries.ts'
import { changePort, complaint, readPort } from './embedded.cluster.ts'
import { isRoot, type ServerUser, spawnOptions } from './embedded.user.ts'

export interface Postmaster {
  pid: number
  port: number
  /** It takes connections: neither starting, nor recovering, nor stopping. */
  ready: boolean
}

/** The command line of a process; empty for a dead one that nobody has waited for, undefined for none. */
const commandLine = (pid: number): Promise<string | undefined> =>
  process.platform === 'linux'
    ? readFile(`/proc/${pid}/cmdline`, 'utf8').then(
        (text) => text.replaceAll('\0', ' '),
        () => undefined,
      )
    : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(
        ({ stdout }) => stdout,
        () => undefined,
      )

const pidFile = (pgdata: string) => join(pgdata, 'postmaster.pid')

/** Lines of postmaster.pid: pid, data directory, start time, port, socket directory, address, shared memory, status. */
const parse = (text: string): Postmaster => {
  const lines = text.split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

const serves = async (pid: number, pgdata: string): Promise<boolean> =>
  (await commandLine(pid))?.includes(`postgres -D ${pgdata} -p `) ?? false

/** The live server of a cluster, undefined if there is none, whatever its pid file says. */
export const findPostmaster = async (pgdata: string): Promise<Postmaster | undefined> => {
  const text = await readFile(pidFile(pgdata), 'utf8').catch(() => '')
  const postmaster = parse(text)
  return postmaster.pid && (await serves(postmaster.pid, pgdata)) ? postmaster : undefined
}

const emptyPidFileMs = 2_000

/**
 * Removes a pid file that PostgreSQL would take for a running server: its pid now belongs to another program, or its
 * writer was killed before the first byte. That of a dead process is left to PostgreSQL, which looks for orphaned
 * backends by it.
 */
const removeStalePidFile = async (pgdata: string): Promise<void> => {
  const read = () => readFile(pidFile(pgdata), 'utf8').catch(() => undefined)
  const text = await read()
  if (text === undefined) return
  const { pid } = parse(text)
  const command = pid ? await commandLine(pid) : undefined
  const isForeign = command !== undefined && !command.includes(`postgres -D ${pgdata} -p `)
  const isEmpty = text === '' && Date.now() - (await stat(pidFile(pgdata))).mtimeMs > emptyPidFileMs
  // Another starter may have been faster: only what was judged is removed.
  if ((isForeign || isEmpty) && (await read()) === text) await rm(pidFile(pgdata), { force: true })
}

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

/** Failures that pass: another starter was faster, or backends of a killed server still leave. */
const passing = /lock file|shared memory block/
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
 * Starts the server in a session of its own, so that it outlives this process; it writes to `postgres.log`. Of two that
 * start at once, PostgreSQL's lock on the cluster lets one live.
 */
export const startPostmaster = async (
  folder: string,
  pgdata: string,
  native: string,
  user: ServerUser | undefined,
  extra: Record<string, string> = {},
): Promise<Start> => {
  await removeStalePidFile(pgdata)
  const port = await readPort(folder)
  const flags = Object.entries({ ...settings, ...extra }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = await openLog(folder)
  const { size } = await log.stat()
  const child = spawn(join(native, 'bin/postgres'), ['-D', pgdata, '-p', String(port), ...flags], {
    ...spawnOptions(user),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
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
      const last = fault?.message ?? complaint(own.length ? own.join('\n') : said)
      if (portTaken.test(last)) await changePort(folder)
      else if (fault || (child.exitCode && !passing.test(last)))
        throw new Problem('unavailable', `The embedded database does not start: ${last}`)
    },
  }
}

/** Asks the server for a fast shutdown, which breaks connections off, and waits up to 30 s until its process is gone. */
export const stopPostmaster = async (pid: number, pgdata: string): Promise<void> => {
  try {
    process.kill(pid, 'SIGINT')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  const deadline = performance.now() + 30_000
  while (await serves(pid, pgdata)) {
    if (performance.now() > deadline) throw new Problem('unavailable', 'The embedded database is still stopping')
    await sleep(5)
  }
}
