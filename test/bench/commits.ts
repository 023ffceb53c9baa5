import { Pool } from 'undici'
import type { OpenApp } from '../../src/app/app.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { openDatabase } from '../../src/store/database.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { fill } from './lookup.ts'
import { type Bench, benchAccount, interleaved, type Row, row } from './support.ts'
import { openSink } from './webhooks.ts'

/** Callers of each daemon. */
const callersEach = 16
const callsEach = 60

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
const postDeals = async (callers: readonly Caller[]): Promise<number> => {
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

/**
 * Writes with events beside writes without, while each commit takes long: what waits for a commit while it holds something that
 * others need shows here. The daemons share one database; no CPU is short.
 */
export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app({}, { queue: false })
  const env = b.env(app.databaseUrl)
  const sink = await openSink()
  const hook = `${sink.url}/hook`
  const without = await openAccounts(app, callersEach, null)
  const wanting = await openAccounts(app, 4 * callersEach, hook)
  const daemons: Daemon[] = []
  /** One caller for each account, spread over the first `count` daemons. */
  const callers = (accounts: readonly Account[], count: number): Caller[] =>
    accounts.map((account, n) => ({ account, daemon: daemons[n % count]! }))
  const rows: Row[] = []
  try {
    for (const ms of [5, 20]) {
      await slowCommits(b.serverUrl, app.databaseUrl, ms)
      // Sessions read the setting when they begin.
      for (const daemon of daemons.splice(0)) await daemon.stop()
      for (let n = 0; n < 4; n++) daemons.push(await startDaemon({ env }))
      const events = await interleaved(
        3,
        () => postDeals(callers(wanting.slice(0, callersEach), 1)),
        () => postDeals(callers(without, 1)),
      )
      rows.push(
        row(`${callersEach} accounts, with events ÷ without, ${ms} ms a commit`, 'calls/s', events, { atLeast: 0.8 }),
      )
      if (ms === 5) {
        const [only] = wanting
        const busy = await interleaved(
          3,
          () =>
            postDeals(
              callers(
                Array.from({ length: 32 }, () => only!),
                1,
              ),
            ),
          () => postDeals(callers(wanting.slice(0, 32), 1)),
        )
        rows.push(
          row(`32 callers of one account ÷ of 32 accounts, ${ms} ms a commit`, 'calls/s', busy, { atLeast: 0.5 }),
        )
        continue
      }
      for (const [count, atLeast] of [
        [2, 1.8],
        [4, 3],
      ] as const) {
        const figures = await interleaved(
          3,
          () => postDeals(callers(wanting.slice(0, count * callersEach), count)),
          () => postDeals(callers(wanting.slice(0, callersEach), 1)),
        )
        rows.push(row(`${count} daemons ÷ one, ${ms} ms a commit`, 'calls/s', figures, { atLeast }))
      }
    }
  } finally {
    for (const daemon of daemons) await daemon.stop()
    sink.close()
  }
  return rows
}
