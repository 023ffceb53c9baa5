import { access, constants, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
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

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const isWritable = (path: string): Promise<boolean> =>
  access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )

const nearestThere = async (path: string): Promise<string> =>
  (await isThere(path)) || dirname(path) === path ? path : nearestThere(dirname(path))

/** What must be readable by its owner alone. */
const privateFiles = ['secret', 'postgres.password']

const checkFolder = async (dataDir: string): Promise<Check> => {
  const name = 'data folder'
  const there = await nearestThere(dataDir)
  if (!(await isWritable(there)))
    return fail(name, `${there} can't be written by this user: give it to them, or set SVC_DATA_DIR`)
  if (there !== dataDir) return warn(name, `${dataDir} is not there yet: svc serve makes it`)
  for (const file of privateFiles) {
    const found = await stat(join(dataDir, file)).catch(() => null)
    if (found && found.mode & 0o077) return fail(name, `${join(dataDir, file)} can be read by others: chmod 600 it`)
  }
  return ok(name, dataDir)
}

const checkDisk = async (dataDir: string): Promise<Check> => {
  const { bavail, bsize } = await statfs(await nearestThere(dataDir))
  const free = bavail * bsize
  const message = `${Math.floor(free / 1e6).toLocaleString('en')} MB free`
  if (free < fewBytes) return fail('disk', `${message}: PostgreSQL stops when there are none`)
  return free < lowBytes ? warn('disk', `${message}: make room`) : ok('disk', message)
}

/** The data folder and the disk below it, where the database is in it. */
export const checkPlace = async ({
  databaseUrl,
  dataDir,
}: Pick<Config, 'databaseUrl' | 'dataDir'>): Promise<Check[]> => {
  if (databaseUrl === null) return Promise.all([checkFolder(dataDir), checkDisk(dataDir)])
  return [
    ok('data folder', 'not used with DATABASE_URL'),
    ok('disk', 'that of DATABASE_URL, which is not seen from here'),
  ]
}

/** `code` of the refusal; null: it can be had. */
const tryPort = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })

/** The status that `/healthz` answers with, 200 only where a daemon of ours does. Rejects where nobody answers. */
const askHealth = async (url: string): Promise<number> => {
  const reply = await fetch(`${url}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(answerMs) })
  const text = await reply.text()
  return reply.status === 200 && text !== '{"status":"ok"}' ? 404 : reply.status
}

const anyHost: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }
const urlHost = (host: string): string => anyHost[host] ?? (host.includes(':') ? `[${host}]` : host)

const checkPort = async ({ host, port }: Pick<Config, 'host' | 'port'>): Promise<Check & { isOurs: boolean }> => {
  const name = 'port'
  const refusal = port === 0 ? null : await tryPort(host, port)
  if (refusal === null) return { ...ok(name, `${host}:${port} is free`), isOurs: false }
  if (refusal !== 'EADDRINUSE')
    return { ...fail(name, `${host}:${port} can't be had (${refusal}): set SVC_HOST and SVC_PORT`), isOurs: false }
  const status = await askHealth(`http://${urlHost(host)}:${port}`).catch(() => null)
  if (status === 200) return { ...ok(name, `${host}:${port} is a running daemon's`), isOurs: true }
  return { ...fail(name, `${host}:${port} is another program's: set SVC_PORT to a free one`), isOurs: false }
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
        `${publicUrl}/healthz answers ${status}, not as a daemon does: look at the proxy and SVC_PUBLIC_URL${idle}`,
      )
  } catch (error) {
    return bad(name, `${publicUrl} does not answer (${reasonOf(error)}): look at SVC_PUBLIC_URL${idle}`)
  }
  return loopback.test(new URL(publicUrl).host)
    ? warn(
        name,
        `${publicUrl} answers, to this machine alone: set SVC_PUBLIC_URL to what recipients of mails can reach`,
      )
    : ok(name, `${publicUrl} answers`)
}

/** Whether a daemon can listen, or does, and whether it is reached where links lead. */
export const checkServing = async (config: Pick<Config, 'host' | 'port' | 'publicUrl'>): Promise<Check[]> => {
  const { isOurs, ...port } = await checkPort(config)
  return [await checkPublicUrl(config.publicUrl, isOurs), port]
}
