import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Pool } from 'undici'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { buildServer } from '../../src/http/server.ts'
import { knowDomain, person } from './batch.ts'
import { importFile, upTo, writeFile } from './import.ts'
import { type Bench, below, benchAccount, median, type Row, row } from './support.ts'

/* Concurrent writers that add the same new addresses. */

const callers = 40
const calls = 160
const batchSize = 500
const poolSize = 20_000
const rounds = 2

const imports = 5
const importRows = 10_000
const importRounds = 5

/** Returns a seeded random generator of numbers below 1 (mulberry32). */
const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

/** Returns the first `count` of `numbers` in random order. */
const shuffled = (numbers: readonly number[], random: () => number, count = numbers.length): number[] => {
  const order = [...numbers]
  for (let i = 0; i < count; i++) {
    const other = i + Math.floor(random() * (order.length - i))
    ;[order[i], order[other]] = [order[other]!, order[i]!]
  }
  return order.slice(0, count)
}

/** Returns a row whose bar is that none of `all` failed. */
const none = (name: string, unit: string, failed: number, all: number): Row => ({
  ...below(name, unit, failed, 0),
  ratio: failed / all,
})

/** Callers post batches drawn from one pool of new addresses: the number of refused calls and the slowest response. */
const callersOfOnePool = async (b: Bench): Promise<Row[]> => {
  const app = await b.app()
  const account = await benchAccount(app)
  await knowDomain(app.database)
  const { fastify: server } = await buildServer(app, await loadRoutes(), pino({ level: 'silent' }))
  await server.listen({ port: 0, host: '127.0.0.1' })
  const origin = `http://127.0.0.1:${(server.server.address() as { port: number }).port}`
  const client = new Pool(origin, { connections: callers })
  const times: number[] = []
  const statuses = new Map<number, number>()
  let seconds = 0
  for (let round = 0; round < rounds; round++) {
    const list = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: `pool ${round}` }))
    const random = seeded(round + 1)
    const pool = upTo(poolSize, round * 1_000_000)
    let created = 0
    const drawn = new Set<number>()
    const post = async () => {
      const numbers = shuffled(pool, random, batchSize)
      const start = performance.now()
      const { statusCode, body } = await client.request({
        method: 'POST',
        path: '/api/v1/contacts',
        headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ listId: list.id, contacts: numbers.map(person) }),
      })
      const answer = (await body.json()) as { created?: number }
      times.push(performance.now() - start)
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (statusCode !== 200) return
      created += answer.created!
      for (const n of numbers) drawn.add(n)
    }
    const start = performance.now()
    let next = 0
    const caller = async () => {
      while (next++ < calls) await post()
    }
    await Promise.all(Array.from({ length: callers }, caller))
    seconds += (performance.now() - start) / 1000
    if (created !== drawn.size) throw new Error(`${created} were counted as created of ${drawn.size}`)
  }
  await client.close()
  await server.close()
  const refused = [...statuses].reduce((sum, [status, count]) => (status === 200 ? sum : sum + count), 0)
  const all = `${calls * rounds} batches of one pool of 20,000 new, ${callers} callers`
  process.stderr.write(`  ${JSON.stringify([...statuses])} in ${seconds.toFixed(1)} s\n`)
  return [
    none(`${all}: refused`, 'answers', refused, calls * rounds),
    below(`${all}: the slowest answer`, 'ms', Math.max(...times), 10_000),
  ]
}

/** Starts imports as concurrent processes; measures the seconds until the last one ends. */
const importsAtOnce = async (b: Bench): Promise<Row[]> => {
  const url = await b.database()
  const env = b.env(url)
  const own = await openApp(readConfig(env))
  await benchAccount(own)
  await knowDomain(own.database)
  await own.close()
  const folder = await mkdtemp(join(tmpdir(), 'svc-conflicts-'))
  const random = seeded(99)
  let round = 0
  const failures: string[] = []
  let started = 0

  /** Imports a file for each of these orders into one new list; `count` addresses are new. */
  const run = async (orders: readonly number[][], count: number): Promise<number> => {
    round++
    started += orders.length
    const paths = orders.map((_, i) => join(folder, `${round}-${i}.csv`))
    for (const [i, path] of paths.entries()) await writeFile(path, orders[i]!)
    const start = performance.now()
    const ended = await Promise.all(paths.map((path) => importFile(path, `list ${round}`, env)))
    const seconds = (performance.now() - start) / 1000
    for (const { exit, stderr } of ended) if (exit !== 0) failures.push(`exit ${exit}: ${stderr}`)
    const created = ended.reduce((sum, { counts }) => sum + (counts.created ?? 0), 0)
    if (created !== count) failures.push(`${created} of ${count} counted as created`)
    return seconds
  }
  let from = 1_000_000_000
  const fresh = () => {
    from += importRows
    return upTo(importRows, from)
  }
  const kinds: Record<'one' | 'disjoint' | 'orders' | 'same', () => Promise<number>> = {
    one: () => run([fresh()], importRows),
    disjoint: () => run(Array.from({ length: imports }, fresh), imports * importRows),
    orders: () => {
      const numbers = fresh()
      return run(
        Array.from({ length: imports }, () => shuffled(numbers, random)),
        importRows,
      )
    },
    same: () => run(new Array(imports).fill(fresh()), importRows),
  }
  const seconds = { one: [], disjoint: [], orders: [], same: [] } as Record<keyof typeof kinds, number[]>
  for (let i = 0; i < importRounds; i++)
    for (const [kind, measure] of Object.entries(kinds)) seconds[kind as keyof typeof kinds].push(await measure())
  await rm(folder, { recursive: true, force: true })
  process.stderr.write(
    `  ${JSON.stringify(seconds, (_, value) => (typeof value === 'number' ? +value.toFixed(2) : value))}\n`,
  )
  const { one, disjoint, orders, same } = seconds
  const title = `${imports} imports at once of the same ${importRows.toLocaleString('en')} rows`
  if (failures.length > 0) process.stderr.write(`  ${failures.join('\n  ')}\n`)
  return [
    none(`${title}: failures`, 'imports', failures.length, started),
    row(
      `${title} in different orders, against rows of their own`,
      's',
      { ours: median(orders), limit: median(disjoint) },
      { atMost: 1.3 },
    ),
    row(
      `${title} in one order, against that many times one import`,
      's',
      { ours: median(same), limit: imports * median(one) },
      { atMost: 1 },
    ),
  ]
}

export const bench = async (b: Bench): Promise<Row[]> => [...(await callersOfOnePool(b)), ...(await importsAtOnce(b))]
