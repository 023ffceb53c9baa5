import type { OpenApp } from '../../src/app/app.ts'
import { type ClaimCapacity, claimDue } from '../../src/deliveries/queue/deliveries.claim.ts'
import { recordResults, resultOf } from '../../src/deliveries/queue/deliveries.record.ts'
import { type Bench, median, type Row, row, timed } from './support.ts'
import { emitEvents, subscribe } from './webhooks.ts'

const batch = 256
const rounds = 12
const ok = { ok: true, status: 200, error: null, retryAfterSeconds: null, durationMs: 5, snippet: '', stopped: false }

const capacityFor = (id: string, since: number): ClaimCapacity => ({
  total: 2048,
  bytes: { small: 1e9, total: 1e9, hanging: 1e9, accounts: {}, accountDefault: 1e9 },
  requests: [{ id, capacity: batch, since }],
  accounts: {},
  accountDefault: 512,
  unknown: { capacity: 4, targets: 64, perAccount: 8, accounts: {} },
  hanging: { targets: 32, perAccount: 8, accounts: {} },
})

/** Measures claiming and recording of 256 deliveries, in ms: the median of each over several rounds of 1,024. */
const measure = async (
  app: OpenApp,
  target: { accountId: string; webhookId: string },
  beforeClaims = async () => {},
) => {
  const seen = { claim: [] as number[], record: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    let since = app.now().getTime() * 1000 - 1e6
    for (let i = 0; i < 4; i++) await emitEvents(app, target.accountId, batch)
    await beforeClaims()
    for (let i = 0; i < 4; i++) {
      let claims: Awaited<ReturnType<typeof claimDue>> = []
      const claimMs = await timed(async () => {
        claims = await claimDue(app.sql, 1, capacityFor(target.webhookId, since))
      })
      if (claims.length !== batch) throw new Error(`${claims.length} were claimed`)
      since = claims.at(-1)!.dueAt
      seen.claim.push(claimMs)
      const results = claims.map((claimed) => resultOf(claimed, ok, 0.5))
      seen.record.push(await timed(() => recordResults(app.sql, results)))
    }
  }
  return { claim: median(seen.claim), record: median(seen.record) }
}

const addHistory = (app: OpenApp, accountId: string, webhookId: string) =>
  app.sql(
    `insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at)
     select $1, 'dlv_0' || lpad(n::text, 10, '0'), $2, 'evt_x', 'contact.created', 'delivered', now(), now()
     from generate_series(1, 1000000) n`,
    [accountId, webhookId],
  )

const addBackOff = async (app: OpenApp, accountId: string) => {
  await app.sql(
    `insert into delivery_targets (id, account_id, kind, url, status, created_at, next_due_at)
     select 'whk_b' || n, $1, 'subscription', 'http://127.0.0.1:1/', 'active', now(), now() + interval '1 hour'
     from generate_series(1, 10000) n`,
    [accountId],
  )
  await app.sql(
    `insert into pending_deliveries (account_id, id, target_id, key, type, bytes, due_at, created_at, tries)
     select $1, 'dlv_9' || n, 'whk_b' || n, 'evt_x', 'contact.created', 10, now() + interval '1 hour', now(), 3
     from generate_series(1, 10000) n`,
    [accountId],
  )
}

/** Measures claiming and recording beside a backlog and a history, with planner statistics of different ages. */
export const bench = async ({ app: open }: Bench): Promise<Row[]> => {
  const app = await open()
  const target = await subscribe(app, 'http://127.0.0.1:1/')
  await measure(app, target)
  const limit = await measure(app, target)
  const rows: Row[] = []
  const compare = async (name: string, beforeClaims?: () => Promise<void>) => {
    const ours = await measure(app, target, beforeClaims)
    rows.push(row(`claim of 256 ${name}`, 'ms', { ours: ours.claim, limit: limit.claim }, { atMost: 1.5 }))
    rows.push(row(`record of 256 ${name}`, 'ms', { ours: ours.record, limit: limit.record }, { atMost: 1.5 }))
  }
  await app.sql('analyze')
  await compare('after an analyze of the empty queue')
  await compare('with an analyze of the full queue', async () => {
    await app.sql('analyze pending_deliveries')
  })
  await addHistory(app, target.accountId, target.webhookId)
  await addBackOff(app, target.accountId)
  await compare('beside 10,000 targets in back-off and 1,000,000 ended')
  await app.sql('analyze')
  const dump = await app.database.connect()
  await dump.query('begin isolation level repeatable read')
  await dump.query('select count(*) from deliveries')
  await compare('the same, analyzed, beside a dump with an old snapshot')
  await dump.end()
  return rows
}
