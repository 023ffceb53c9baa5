import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount, createKey } from '../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/schema.ts'
import type { Statement } from '../../src/store/statement.ts'
import { urlOf } from '../support/server.ts'

/**
 * A statement that stays prepared under its name, called with an array. Its columns are not declared, so nothing compares them.
 */
export const named = <Row extends object = Record<string, unknown>>(
  name: string,
  text: string,
): Statement<Row, readonly unknown[]> => ({
  name,
  text,
  columns: {} as Statement<Row>['columns'],
  parameters: Array.from(new Set(text.match(/\$\d+/g)), (_, i) => [String(i), '']),
  isPrepared: true,
})

/** One figure beside its limit, measured in the same run. */
export interface Row {
  name: string
  ours: number
  limit: number
  unit: string
  /** ours / limit. The bar says whether more or less is better. */
  ratio: number
  /** Who used the CPU meanwhile; absent where it was not measured. */
  cores?: Cores | undefined
  bar: string
  ok: boolean
}

export interface Bench {
  /** A durable server (fsync on): the embedded one in a temporary folder, or DATABASE_URL. */
  serverUrl: string
  /** Creates an empty database; it is deleted when the bench ends. */
  empty(): Promise<string>
  /** Creates a fresh migrated database; it is deleted when the bench ends. */
  database(): Promise<string>
  /** `queue`: uses the settings of connections for queue statements (default) instead of those of the API. */
  app(env?: Record<string, string>, options?: { queue: boolean }): Promise<OpenApp>
  env(url: string, extra?: Record<string, string>): Record<string, string>
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export const percentile = (values: readonly number[], p: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))] ?? Number.NaN
}

export const timed = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return performance.now() - start
}

/** The clock ticks of /proc are 1/100 s on Linux. */
const ticksPerSecond = 100

const readStat = async (pid: number | string): Promise<{ parent: number; own: number; ended: number }> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const seconds = (at: number) => Number(fields[at]) / ticksPerSecond
  return { parent: Number(fields[1]), own: seconds(11) + seconds(12), ended: seconds(13) + seconds(14) }
}

/** Returns the CPU time of a process so far, with all of its threads. */
export const cpuSeconds = async (pid: number): Promise<number> => (await readStat(pid)).own

/** Returns the CPU time so far of this process and of all that it has started: daemons, callers, the embedded server. */
const cpuOfBench = async (): Promise<number> => {
  const stats = new Map<number, Awaited<ReturnType<typeof readStat>>>()
  for (const name of await readdir('/proc')) {
    // A process may end meanwhile.
    const stat = /^\d+$/.test(name) ? await readStat(name).catch(() => null) : null
    if (stat) stats.set(Number(name), stat)
  }
  const isOurs = (pid: number): boolean => pid === process.pid || (stats.has(pid) && isOurs(stats.get(pid)!.parent))
  return [...stats].reduce((sum, [pid, { own, ended }]) => (isOurs(pid) ? sum + own + ended : sum), 0)
}

/** Returns the time so far in which the machine's cores were busy, with all that runs on it. */
const cpuOfMachine = async (): Promise<number> => {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  // User, nice, system, then idle and waiting for a disk, then interrupts.
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(/\s+/).slice(1).map(Number)
  return (user + nice + system + irq + softirq) / ticksPerSecond
}

/** How many cores were busy on average: for each side, with all of its processes, and on the whole machine, with other work. */
export interface Cores {
  ours: number
  limit: number
  machine: number
}

export const coresOfMachine = availableParallelism()

/** Measures the CPU use of several runs of one side. */
export const createMeter = () => {
  let [seconds, bench, machine] = [0, 0, 0]
  return {
    async measure<T>(run: () => Promise<T>): Promise<T> {
      const [benchBefore, machineBefore, start] = [await cpuOfBench(), await cpuOfMachine(), performance.now()]
      const result = await run()
      seconds += (performance.now() - start) / 1000
      bench += (await cpuOfBench()) - benchBefore
      machine += (await cpuOfMachine()) - machineBefore
      return result
    },
    get used() {
      return { seconds, bench, machine }
    },
  }
}

export type Meter = ReturnType<typeof createMeter>

export const coresOf = ({ used: ours }: Meter, { used: limit }: Meter): Cores => ({
  ours: ours.bench / ours.seconds,
  limit: limit.bench / limit.seconds,
  machine: (ours.machine + limit.machine) / (ours.seconds + limit.seconds),
})

/**
 * Runs `ours` and `limit` in turns, so that both see the same machine; returns the median of each, and how many cores they kept
 * busy.
 */
export const interleaved = async (rounds: number, ours: () => Promise<number>, limit: () => Promise<number>) => {
  const results = { ours: [] as number[], limit: [] as number[] }
  const meters = { ours: createMeter(), limit: createMeter() }
  for (let round = 0; round < rounds; round++) {
    results.limit.push(await meters.limit.measure(limit))
    results.ours.push(await meters.ours.measure(ours))
  }
  return { ours: median(results.ours), limit: median(results.limit), cores: coresOf(meters.ours, meters.limit) }
}

/** Returns a row whose bar is a minimum ratio (`atLeast`) or a maximum ratio (`atMost`). */
export const row = (
  name: string,
  unit: string,
  figures: { ours: number; limit: number; cores?: Cores },
  bar: { atLeast?: number; atMost?: number },
): Row => {
  const ratio = figures.ours / figures.limit
  const ok = bar.atLeast === undefined ? ratio <= bar.atMost! : ratio >= bar.atLeast
  return {
    name,
    unit,
    ...figures,
    ratio,
    ok,
    bar: bar.atLeast === undefined ? `≤ ${bar.atMost} ×` : `≥ ${bar.atLeast} ×`,
  }
}

/** Returns a row whose bar is an absolute limit: `ours` must stay at or below it. */
export const below = (name: string, unit: string, ours: number, limit: number): Row => ({
  name,
  unit,
  ours,
  limit,
  ratio: ours / limit,
  ok: ours <= limit,
  bar: `≤ ${limit} ${unit}`,
})

export const withBench = async <T>(run: (bench: Bench) => Promise<T>): Promise<T> => {
  const given = process.env.DATABASE_URL
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const embedded = given ? null : await openEmbedded(folder)
  const serverUrl = given ?? embedded!.url
  const server = openDatabase(serverUrl, { max: 1 })
  const names: string[] = []
  const apps: OpenApp[] = []
  const env = (url: string, extra: Record<string, string> = {}) => ({
    DATABASE_URL: url,
    SVC_SECRET: 'a secret that only benches use',
    SVC_RATE_LIMIT: '0',
    SVC_RATE_LIMIT_WEBHOOKS: '0',
    SVC_RATE_LIMIT_PUBLIC: '0',
    SVC_LOG_LEVEL: 'error',
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
    ...extra,
  })
  const empty = async () => {
    const name = `svc_bench_${process.pid}_${names.length}`
    names.push(name)
    await server.sql(`create database ${name}`)
    return urlOf(serverUrl, name)
  }
  const database = async () => {
    const url = await empty()
    const fresh = openDatabase(url, { max: 1 })
    await migrate(fresh, url)
    await fresh.close()
    return url
  }
  try {
    return await run({
      serverUrl,
      empty,
      database,
      env,
      async app(extra, { queue } = { queue: true }) {
        // The same number of connections as in the daemon.
        const app = await openApp(readConfig(env(await database(), extra)), { connections: 20, queue })
        apps.push(app)
        return app
      },
    })
  } finally {
    for (const app of apps) await app.close()
    for (const name of names) await server.sql(`drop database if exists ${name} with (force)`)
    await server.close()
    await embedded?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

export const benchAccount = async (app: OpenApp, name = 'bench'): Promise<{ id: string; key: string }> => {
  const account = await app.operate('cli:bench', (operation) => createAccount(operation, { name, plan: 'unlimited' }))
  const { key } = await app.work(account.id, 'cli:bench', (work) => createKey(work, { name: 'bench' }))
  return { id: account.id, key }
}
