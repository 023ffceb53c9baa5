import { access, constants, open, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { reachableHost, urlHost } from '../../net/addresses.ts'
import type { Config } from '../config.ts'
import { tryPort } from '../port.ts'
import { type Check, fail, ok, reasonOf, warn } from './doctor.check.ts'

const leastNode = 26
const [lowBytes, fewBytes] = [2e9, 2e8]
const answerMs = 5000

export const checkNode = (): Check => {
  const { node } = process.versions
  return Number.parseInt(node, 10) >= leastNode
    ? ok('node', `Node ${node}`)
    : fail('node', `Node ${node} is too old: install ${leastNode} or newer`)
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )

const nearestExisting = async (path: string): Promise<string> =>
  (await exists(path)) || dirname(path) === path ? path : nearestExisting(dirname(path))

/** Files that only their owner may read. */
const privateFiles = ['secret', 'postgres.password']

const checkFolder = async (dataDir: string): Promise<Check> => {
  const name = 'data folder'
  const existing = await nearestExisting(dataDir)
  if (!(await isWritable(existing)))
    return fail(name, `this user can't write ${existing}: change its owner, or set SVC_DATA_DIR`)
  if (existing !== dataDir) return warn(name, `${dataDir} does not exist yet: svc serve creates it`)
  for (const file of privateFiles) {
    const found = await stat(join(dataDir, file)).catch(() => null)
    if (found && found.mode & 0o077)
      return fail(name, `${join(dataDir, file)} can be read by other users: chmod 600 it`)
  }
  return ok(name, dataDir)
}

const checkDisk = async (dataDir: string): Promise<Check> => {
  const { bavail, bsize } = await statfs(await nearestExisting(dataDir))
  const free = bavail * bsize
  const message = `${Math.floor(free / 1e6).toLocaleString('en')} MB free`
  if (free < fewBytes) return fail('disk', `${message}: PostgreSQL stops when the disk is full`)
  return free < lowBytes ? warn('disk', `${message}: free some space`) : ok('disk', message)
}

/** Checks the data folder and its disk, if the database is embedded. */
export const checkPlace = async ({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<Check[]> => {
  if (databaseUrl === null) return Promise.all([checkFolder(dataDir), checkDisk(dataDir)])
  return [ok('data folder', 'not used with DATABASE_URL'), ok('disk', 'not checked: the database server is remote')]
}

/** Checks, without creating it, that the list of erasures can be written: without it no erasure succeeds. */
export const checkErasures = async (file: string): Promise<Check> => {
  const name = 'erasures'
  const refused = async ({ code }: NodeJS.ErrnoException): Promise<string | undefined> =>
    code === 'ENOENT'
      ? access(dirname(file), constants.W_OK | constants.X_OK).then(
          () => undefined,
          (error) => error.code,
        )
      : code
  const code = await open(file, constants.O_WRONLY | constants.O_APPEND).then((handle) => handle.close(), refused)
  return code === undefined
    ? ok(name, file)
    : fail(name, `this user can't write ${file} (${code}): change its owner, or set SVC_ERASURES_FILE`)
}

/** Returns the status of `/healthz`: 200 only for a daemon of svc. Rejects if there is no answer. */
const askHealth = async (url: string): Promise<number> => {
  const reply = await fetch(`${url}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
  const text = await reply.text()
  return reply.status === 200 && text !== '{"status":"ok"}' ? 404 : reply.status
}

const checkPort = async ({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Check & { isOurs: boolean }> => {
  const name = 'port'
  const refusal = port === 0 ? null : await tryPort(host, port)
  if (refusal === null) return { ...ok(name, `${urlHost(host)}:${port} is free`), isOurs: false }
  if (refusal !== 'EADDRINUSE')
    return {
      ...fail(name, `${urlHost(host)}:${port} can't be used (${refusal}): set SVC_HOST and SVC_PORT`),
      isOurs: false,
    }
  const status = await askHealth(`http://${reachableHost(host)}:${port}`).catch(() => null)
  if (status === 200) return { ...ok(name, `${urlHost(host)}:${port} is used by a running daemon`), isOurs: true }
  return {
    ...fail(name, `${urlHost(host)}:${port} is used by another program: set SVC_PORT to a free port`),
    isOurs: false,
  }
}

const loopback = /^(localhost|127\.|\[::1\])/

const checkPublicUrl = async (publicUrl: string, isRunning: boolean): Promise<Check> => {
  const name = 'public url'
  const bad = isRunning ? fail : warn
  const idle = isRunning ? '' : '; no daemon runs here'
  try {
    const status = await askHealth(publicUrl)
    if (status !== 200)
      return bad(
        name,
        `${publicUrl}/healthz answers ${status}, unlike a daemon: check the proxy and SVC_PUBLIC_URL${idle}`,
      )
  } catch (error) {
    return bad(name, `${publicUrl} does not answer (${reasonOf(error)}): check SVC_PUBLIC_URL${idle}`)
  }
  return loopback.test(new URL(publicUrl).host)
    ? warn(
        name,
        `${publicUrl} answers, but only on this machine: set SVC_PUBLIC_URL to a URL that recipients can reach`,
      )
    : ok(name, `${publicUrl} answers`)
}

/** The daemons of the database. */
export interface Daemons {
  /** Whether a daemon is connected now. */
  isConnected: boolean
  /** The public URL of the daemon that started last. It is null if none has started. */
  publicUrl: string | null
  /** The settings of that daemon that commands should share. They are null if none has started. */
  settings: Record<string, unknown> | null
}

const shownValue = (value: unknown): string => {
  const text = Array.isArray(value) ? value.join(',') : String(value ?? '')
  return text === '' ? 'not set' : text
}

/** Checks that commands have the daemon's settings. Returns no check if no daemon runs. */
export const checkSettings = (own: Record<string, unknown>, daemons: Daemons | null): Check[] => {
  if (!daemons?.isConnected || !daemons.settings) return []
  const name = 'settings'
  const differing = Object.entries(daemons.settings).flatMap(([setting, value]) => {
    const [here, there] = [shownValue(own[setting]), shownValue(value)]
    return here === there ? [] : [`${setting} is ${here} here and ${there} for the daemon`]
  })
  if (differing.length === 0) return [ok(name, 'the same as those of the daemon that started last')]
  return [warn(name, `${differing.join('; ')}: run commands with the daemon's environment`)]
}

/**
 * Checks that a daemon can listen, or that the running one serves this database, and that the public URL reaches it.
 * `daemons` is null if the database is unavailable.
 */
export const checkServing = async (
  config: Pick<Config, 'host' | 'port' | 'publicUrl'>,
  daemons: Daemons | null,
  isPublicUrlGiven: boolean,
): Promise<Check[]> => {
  const { isOurs, ...port } = await checkPort(config)
  const served =
    isOurs && daemons
      ? daemons.isConnected
        ? ok(port.name, `${port.message}, which serves this database`)
        : fail(
            port.name,
            `${port.message} of another database: set SVC_DATA_DIR or DATABASE_URL to that database, or set SVC_PORT`,
          )
      : port
  const kept = daemons?.publicUrl ?? config.publicUrl
  if (isPublicUrlGiven && kept !== config.publicUrl)
    return [
      fail(
        'public url',
        `SVC_PUBLIC_URL is ${config.publicUrl} here, and ${kept} for the daemon: use the same value for both`,
      ),
      served,
    ]
  return [await checkPublicUrl(kept, isOurs), served]
}
