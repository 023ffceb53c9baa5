import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnInTest } from '../../support/children.ts'
import { inherited, program } from '../../support/cli.ts'
import { freePort } from '../../support/daemon.ts'
import { openProxy, type TcpProxy } from '../../support/proxy.ts'
import { limit } from '../../support/slowness.ts'

export interface Line {
  at: number
  daemon: number
  text: string
}

/** An `svc serve` process that is started again whenever it ends. */
export interface Daemon {
  number: number
  url: string
  /** The proxy between the daemon and the database. */
  proxy: TcpProxy
  /** Whether SIGSTOP has stopped it. */
  isFrozen: boolean
  /** When the last freeze ended, by performance.now(). */
  frozenUntil: number
  freeze(): void
  thaw(): void
  /** Ends it and starts it again; resolves once the new process is started, before it is ready. */
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** The version that its next process has. */
  version: 'before' | 'this'
}

export interface Daemons {
  all: Daemon[]
  lines: Line[]
  /** Unexpected exits, bad exit statuses and slow exits. */
  complaints: string[]
  /** Waits until all daemons, or one, are ready; returns false if that takes longer than the limit. */
  ready(limitMs: number, which?: 'all' | 'one'): Promise<boolean>
  close(): Promise<void>
}

/** SIGTERM ends a daemon within 15 s; the remaining time allows for a busy machine. */
const stopLimitMs = limit(20_000)
/** The exit status of a start while the database is unavailable. */
const unavailableStatus = 7

const isReady = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(limit(5000)) })).ok
  } catch {
    return false
  }
}

/**
 * Starts `count` daemons, each with its own proxy in front of the database at `databaseUrl`. `before`: the program of the version before,
 * which they begin with; null: there is none.
 */
export const startDaemons = async (
  count: number,
  databaseUrl: string,
  env: Record<string, string>,
  before: string | null,
): Promise<Daemons> => {
  const lines: Line[] = []
  const complaints: string[] = []
  const running = new Map<number, ChildProcess>()
  /** Processes that have logged that they are ready; before that, a signal ends them with its default action. */
  const started = new WeakSet<ChildProcess>()
  const versions = Array.from({ length: count }, (): Daemon['version'] => (before === null ? 'this' : 'before'))
  let isClosing = false

  const launch = (number: number, own: Record<string, string>): void => {
    const path = before !== null && versions[number] === 'before' ? before : program
    const child = spawnInTest(process.execPath, [path, 'serve'], { env: { ...inherited(), ...own } })
    running.set(number, child)
    let rest = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        const parts = (rest + text).split('\n')
        rest = parts.pop()!
        for (const part of parts) {
          if (part.includes('svc is ready')) started.add(child)
          // Leaves out the line of each answered request.
          if (!part.startsWith('{"level":30,')) lines.push({ at: Date.now(), daemon: number, text: part })
        }
      })
    }
    child.once('exit', async (status, signal) => {
      if (isClosing || running.get(number) !== child) return
      if (status !== unavailableStatus) complaints.push(`daemon ${number} ended by itself: ${status ?? signal}`)
      await sleep(500)
      if (!isClosing && running.get(number) === child) launch(number, own)
    })
  }

  /** Ends a daemon on request, so that `launch` does not start it again. */
  const end = async (number: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const child = running.get(number)!
    running.delete(number)
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    const askedAt = performance.now()
    child.kill(signal)
    if (signal === 'SIGKILL') return void (await exited)
    const late = setTimeout(() => child.kill('SIGKILL'), stopLimitMs)
    await exited.finally(() => clearTimeout(late))
    const seconds = ((performance.now() - askedAt) / 1000).toFixed(1)
    const how = child.exitCode ?? child.signalCode
    if (how !== 0 && started.has(child))
      complaints.push(`daemon ${number} ended with ${how} ${seconds} s after SIGTERM`)
  }

  const all = await Promise.all(
    Array.from({ length: count }, async (_, number): Promise<Daemon> => {
      const [port, proxy] = await Promise.all([freePort(), openProxy(databaseUrl)])
      const own = { ...env, DATABASE_URL: proxy.through(databaseUrl), SVC_PORT: String(port) }
      launch(number, own)
      let restarting: Promise<void> | undefined
      const again = async (signal: 'SIGKILL' | 'SIGTERM') => {
        if (daemon.isFrozen) daemon.thaw()
        await end(number, signal)
        if (!isClosing) launch(number, own)
      }
      const daemon: Daemon = {
        number,
        url: `http://127.0.0.1:${port}`,
        proxy,
        isFrozen: false,
        frozenUntil: 0,
        get version() {
          return versions[number]!
        },
        set version(version) {
          versions[number] = version
        },
        freeze() {
          daemon.isFrozen = running.get(number)?.kill('SIGSTOP') ?? false
        },
        thaw() {
          daemon.isFrozen = false
          daemon.frozenUntil = performance.now()
          running.get(number)?.kill('SIGCONT')
        },
        restart: (signal) => {
          restarting ??= again(signal).finally(() => {
            restarting = undefined
          })
          return restarting
        },
      }
      return daemon
    }),
  )
  const killAll = () => {
    for (const child of running.values()) child.kill('SIGKILL')
  }
  process.once('exit', killAll)

  return {
    all,
    lines,
    complaints,
    async ready(limitMs, which = 'all') {
      for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(100)) {
        const asked = all.map(async ({ url }) => (await isReady(url)) || Promise.reject(new Error('not ready')))
        // A frozen daemon does not answer, so `one` does not wait for it.
        const found = which === 'all' ? Promise.all(asked) : Promise.any(asked)
        if (await found.then(Boolean, () => false)) return true
      }
      return false
    },
    async close() {
      isClosing = true
      process.off('exit', killAll)
      await Promise.all([...running.keys()].map((number) => end(number, 'SIGKILL')))
      await Promise.all(all.map(({ proxy }) => proxy.close()))
    },
  }
}
