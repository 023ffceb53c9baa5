import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount, createKey } from '../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/schema.ts'
import type { Statement } from '../../src/store/statement.ts'
import { urlOf } from '../support/server.ts'

/** A statement that stays prepared under its name. Its columns are not declared, so nothing compares them. */
export const named = <Row extends object = Record<string, unknown>>(name: string, text: string): Statement<Row> => ({
  name,
  text,
  columns: {} as Statement<Row>['columns'],
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

/** Returns the CPU time of a process so far, with all of its threads. */
export const cpuSeconds = async (pid: number): Promise<number> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Returns a function that returns the share of the machine's CPU time that was busy since, with all that runs on it. */
export const openBusyShare = async (): Promise<() => Promise<number>> => {
  const read = async () => {
    const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
    const ticks = line.split(/\s+/).slice(1).map(Number)
    // Idle, and waiting for a disk.
    return { all: ticks.reduce((sum, one) => sum + one, 0), idle: ticks[3]! + ticks[4]! }
  }
  const before = await read()
  return async () => {
    const { all, idle } = await read()
    return 1 - (idle - before.idle) / (all - before.all)
  }
}

/** Runs `ours` and `limit` in turns, so that both see the same machine; returns the median of each. */
export const interleaved = async (rounds: number, ours: () => Promise<number>, limit: () => Promise<number>) => {
  const results = { ours: [] as number[], limit: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    results.limit.push(await limit())
    results.ours.push(await ours())
  }
  return { ours: median(results.ours), limit: median(results.limit) }
}

/** Returns a row whose bar is a minimum ratio (`atLeast`) or a maximum ratio (`atMost`). */
export const row = (
  name: string,
  unit: string,
  figures: { ours: number; limit: number },
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
