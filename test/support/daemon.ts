import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Method, Reply, Request } from './app.ts'
import { startSvc } from './cli.ts'
import type { BodyOf } from './replies.ts'
import { inTest } from './scope.ts'
import { waitLimitMs } from './slowness.ts'

export interface Daemon {
  url: string
  pid: number
  /** Its stderr so far. */
  log(): string
  kill(signal: NodeJS.Signals): Promise<number | null>
  /** Sends SIGTERM; resolves with the exit status. */
  stop(): Promise<number | null>
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

// Each worker of a run draws from its own range without repeats: no other worker takes a port that one found free. Runs at the same
// time start at different ports (.ci/run).
const portsOfWorker = 2_000
const firstPort =
  Number(process.env.TEST_FIRST_PORT ?? 10_000) + portsOfWorker * (Number(process.env.VITEST_POOL_ID ?? 0) % 7)
let drawn = 2 * Math.floor((Math.random() * portsOfWorker) / 2)

/** Returns a free port whose successor is free, too; below the ports of outgoing connections and the embedded server. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    drawn = (drawn + 2) % portsOfWorker
    const port = firstPort + drawn
    if ((await isFree(port)) && (await isFree(port + 1))) return port
  }
}

/** Whether a process listens on the port. While a daemon starts, this takes a sixth of the CPU time of a request that fails. */
const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
  })

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    return false
  }
}

/**
 * Starts a real `svc serve` (or `args`) on a free port; resolves when it is ready. It is killed after the test, or after the file
 * if a hook of the file starts it.
 */
export const startDaemon = async (
  target: { env: Record<string, string> },
  { env = {}, args = ['serve'] }: { env?: Record<string, string>; args?: string[] } = {},
): Promise<Daemon> => {
  const port = Number(env.SVC_PORT ?? (await freePort()))
  const url = `http://127.0.0.1:${port}`
  const child = startSvc(target, args, { env: { SVC_PORT: String(port), ...env } })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log += text
    })
  }
  const exited = once(child, 'exit').then(([status]) => status as number | null)
  const deadline = performance.now() + waitLimitMs
  while (!(await inTest(isOpen(port).then((open) => open && isReady(url))))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline)
      throw new Error(`The daemon did not become ready:\n${log}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return inTest(exited)
  }
  return { url, pid: child.pid!, log: () => log, kill, stop: () => kill('SIGTERM') }
}

/** Calls the API of a daemon. The type of the body is what the route declares. */
export const callDaemon = async <const M extends Method, const Path extends string>(
  { url }: Pick<Daemon, 'url'>,
  method: M,
  path: Path,
  { key, body, headers }: Request,
): Promise<Omit<Reply<BodyOf<M, Path>>, 'headers'>> => {
  const reply = await inTest(
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  )
  return { status: reply.status, body: (await inTest(reply.json())) as BodyOf<M, Path> }
}
