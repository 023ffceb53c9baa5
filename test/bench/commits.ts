import { Pool } from 'undici'
import type { OpenApp } from '../../src/app/app.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { fill } from './lookup.ts'
import { type Bench, benchAccount, interleaved, type Row, row } from './support.ts'
import { openSink } from './webhooks.ts'

interface Account {
  id: string
  key: string
}

interface Caller {
  daemon: Daemon
  account: Account
}

/** Makes each commit, or group of commits, take at least `ms`, as on a slow disk or with a synchronous standby. */
const slowCommits = async (serverUrl: string, url: string, ms: number): Promise<void> => {
  const server = openDatabase(serverUrl, { max: 1 })
  const name = new URL(url).pathname.slice(1)
  await server.sql(`alter database ${name} set commit_delay = ${ms * 1000}`)
  await server.sql(`alter database ${name} set commit_siblings = 0`)
  await server.close()
}

/** Posts deals; returns calls per second. Each caller waits for its answer before its next call. */
const postDeals = async (callers: readonly Caller[], callsEach: number): Promise<number> => {
  const pools = new Map(callers.map(({ daemon }) => [daemon, new Pool(daemon.url, { connections: callers.length })]))
  const call = async ({ daemon, account }: Caller): Promise<void> => {
    const { statusCode, body } = await pools.get(daemon)!.request({
      method: 'POST',
      path: '/api/v1/deals',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ title: 'Annual plan', email: 'user0@example.org', value: 1200 }),
    })
    await body.dump()
    if (statusCode !== 201) throw new Error(`POST /deals answered ${statusCode}`)
  }
  // Opens the connections, to the daemons and to the database.
  await Promise.all(callers.map(call))
  const start = performance.now()
  await Promise.all(
    callers.map(async (caller) => {
      for (let n = 0; n < callsEach; n++) await call(caller)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  for (const pool of pools.values()) await pool.close()
  return (callers.length * callsEach) / seconds
}

const openAccounts = async (app: OpenApp, count: number, url: string | null): Promise<Account[]> => {
  const accounts: Account[] = []
  for (let n = 0; n < count; n++) {
    const account = await benchAccount(app, `${url ? 'with' : 'without'} ${n}`)
    const list = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: 'bench' }))
    await fill(app.database, account.id, list.id, 0, 1)
    if (url) {
      const input = { url, events: ['deal.created' as const] }
      await createWebhook(app, account.id, 'cli:bench', input, { createdVia: 'dashboard', trusted: true })
    }
    accounts.push(account)
  }
  return accounts
}

/** Accounts without and with a webhook, and daemons on one database whose commits take `ms`. */
export const openCommits = async (
  b: Bench,
  ms: number,
  counts: { daemons: number; without: number; wanting: number },
) => {
  const app = await b.app({}, { queue: false })
  const sink = await openSink()
  const without = await openAccounts(app, counts.without, null)
  const wanting = await openAccounts(app, counts.wanting, `${sink.url}/hook`)
  await slowCommits(b.serverUrl, app.databaseUrl, ms)
  const daemons: Daemon[] = []
  for (let n = 0; n < counts.daemons; n++) daemons.push(await startDaemon({ env: b.env(app.databaseUrl) }))
  return {
    without,
    wanting,
    /** One caller for each account, spread over the first `count` daemons. */
    callers: (accounts: readonly Account[], count: number): Caller[] =>
      accounts.map((account, n) => ({ account, daemon: daemons[n % count]! })),
    async close() {
      for (const daemon of daemons) await daemon.stop()
      sink.close()
    },
  }
}

/** Fewer calls while commits take long. */
const callsAt = (ms: number) => (ms < 50 ? 60 : 15)

/** Compares two ways to post deals. */
export const compare = async (
  name: string,
  ms: number,
  ours: readonly Caller[],
  limit: readonly Caller[],
  bar: { atLeast: number },
): Promise<Row> => {
  const calls = callsAt(ms)
  const figures = await interleaved(
    3,
    () => postDeals(ours, calls),
    () => postDeals(limit, calls),
  )
  return row(`${name}, ${ms} ms a commit`, 'calls/s', figures, bar)
}

/**
 * Writes with events beside writes without, while each commit takes long: what waits for a commit while it holds something that
 * others need shows here. 5 ms leave two cores no idle time, 100 ms do.
 */
export const bench = async (b: Bench): Promise<Row[]> => {
  const rows: Row[] = []
  for (const ms of [5, 20, 100]) {
    const { without, wanting, callers, close } = await openCommits(b, ms, { daemons: 1, without: 16, wanting: 32 })
    try {
      rows.push(
        await compare('16 accounts, with events ÷ without', ms, callers(wanting.slice(0, 16), 1), callers(without, 1), {
          atLeast: 0.8,
        }),
      )
      if (ms === 20) continue
      const only = Array.from({ length: 32 }, () => wanting[0]!)
      const name = '32 callers of one account ÷ of 32 accounts'
      rows.push(await compare(name, ms, callers(only, 1), callers(wanting, 1), { atLeast: 0.5 }))
    } finally {
      await close()
    }
  }
  return rows
}
