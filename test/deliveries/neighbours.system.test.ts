import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { emitEvents, eventually, subscribe, tally } from '../support/deliveries.ts'
import { startJob } from '../support/jobs.ts'
import { backlog, heldBackMs, hold, pastTimeout, staysHealthy as stays, subscribeMany } from '../support/neighbours.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { endStarted } from '../support/scope.ts'

// No account delays another: each test makes one account a bad neighbour and watches a healthy one.

let bad: TestAccount
let healthy: TestAccount
let theirs: Receiver
let receiver: Receiver

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeEach(async () => {
  ;[bad, healthy] = [await t.account(), await t.account()]
  ;[theirs, receiver] = [await openReceiver(), await openReceiver()]
  await subscribe(t.app, healthy.id, receiver.url)
})
afterEach(async () => {
  await endStarted()
  await Promise.all([theirs.close(), receiver.close()])
  await t.app.sql('truncate pending_deliveries, delivery_targets, webhooks, workers')
})

const start = () => startJob(t, 'deliveries')
const holding = (statement: string, params: unknown[]) => hold(t.url, statement, params)
const delivered = async (account: TestAccount) => (await tally(t.app, account.id)).delivered ?? 0

const staysHealthy = (more?: Parameters<typeof stays>[3]) => stays(t.app, healthy.id, receiver, more)

describe('a locked row', () => {
  test('of a target delays neither other accounts nor other webhooks of its account, and nothing is repeated', async () => {
    const { id } = await subscribe(t.app, bad.id, `${theirs.url}/held`)
    await subscribe(t.app, bad.id, `${theirs.url}/other`)
    await start()
    await emitEvents(t.app, bad.id)
    await theirs.arrived(2)
    const release = await holding('select from delivery_targets where id = $1 for update', [id])
    await emitEvents(t.app, bad.id, 20)
    await eventually(async () => (await delivered(bad)) === 42, heldBackMs)
    await staysHealthy({ least: pastTimeout })
    await release()
    expect(theirs.requests).toHaveLength(42)
  })

  test('of a target when the process has just started: its deliveries are posted once it is unlocked', async () => {
    const { id } = await subscribe(t.app, bad.id, theirs.url)
    await emitEvents(t.app, bad.id)
    const release = await holding('select from delivery_targets where id = $1 for update', [id])
    await start()
    await staysHealthy()
    await release()
    await theirs.arrived(1)
  })

  test('of targets that answer 410 delays no other account', async () => {
    const ids = await subscribeMany(t.app, bad.id, theirs.url, 10)
    theirs.always({ status: 410 })
    await start()
    await staysHealthy({ least: 1 })
    const release = await holding('select from delivery_targets where id = any($1) for update', [ids])
    await emitEvents(t.app, bad.id)
    await theirs.arrived(10)
    await staysHealthy()
    await release()
    await eventually(async () => (await tally(t.app, bad.id)).cancelled === 10)
    expect(theirs.requests).toHaveLength(10)
  })

  test('of a delivery: the other deliveries are recorded at once, this one once it is unlocked', async () => {
    await subscribe(t.app, bad.id, theirs.url)
    theirs.always({ delayMs: 300 })
    await start()
    await emitEvents(t.app, bad.id, 4)
    await theirs.arrived(4)
    const release = await holding(
      `select from pending_deliveries where id = (select min(id) from pending_deliveries where account_id = $1) for update`,
      [bad.id],
    )
    await eventually(async () => (await delivered(bad)) === 3, heldBackMs)
    await staysHealthy()
    await release()
    await eventually(async () => (await delivered(bad)) === 4, heldBackMs)
    expect(theirs.requests).toHaveLength(4)
  })
})

test('a webhook deleted with 100,000 pending deliveries delays neither other accounts nor other webhooks of its account', async () => {
  const { id } = await subscribe(t.app, bad.id, 'http://127.0.0.1:9/')
  await subscribe(t.app, bad.id, theirs.url)
  await backlog(t.app, bad.id, [id], 100_000)
  await t.app.sql(`update delivery_targets set quiet_until = now() + interval '1 hour' where id = $1`, [id])
  await start()
  await staysHealthy({ least: 1 })
  expect((await t.request('DELETE', `/webhooks/${id}`, { key: bad.key })).status).toBe(200)
  let isMoved = false
  const moved = eventually(async () => {
    const left = await t.app.sql('select from pending_deliveries where target_id = $1 limit 1', [id])
    return left.length === 0
  }, 120_000).finally(() => {
    isMoved = true
  })
  await emitEvents(t.app, bad.id)
  await theirs.arrived(1, heldBackMs)
  await staysHealthy({ isDone: () => isMoved })
  await moved
  expect((await tally(t.app, bad.id)).cancelled).toBe(100_000)
})

describe('hundreds of hanging endpoints with a backlog', () => {
  const hanging = async (accounts: number) => {
    theirs.always({ mode: 'hang' })
    for (let i = 0; i < accounts; i++) {
      const { id } = await t.account()
      await backlog(t.app, id, await subscribeMany(t.app, id, `${theirs.url}/${i}`, 50), 10)
    }
  }

  test('of six accounts do not delay an endpoint that the process already knows', async () => {
    await start()
    await staysHealthy({ least: 5 })
    await hanging(6)
    await theirs.arrived(32)
    await staysHealthy({ least: pastTimeout })
  })

  test('of twelve accounts delay no other account when the process has just started', async () => {
    await hanging(12)
    await emitEvents(t.app, healthy.id)
    await start()
    await receiver.arrived(1, heldBackMs)
    await theirs.arrived(32)
    await staysHealthy({ least: pastTimeout })
  })
})

test('payloads of 5 MB to a slow endpoint delay no other account', async () => {
  theirs.always({ delayMs: 4000 })
  const { id } = await subscribe(t.app, bad.id, theirs.url)
  await backlog(t.app, bad.id, [id], 20, 'x'.repeat(5_000_000))
  await start()
  await theirs.arrived(1)
  await staysHealthy({ least: pastTimeout })
})

test('an endpoint that answers 429 with Retry-After gets no more of its backlog, and other accounts are not delayed', async () => {
  const { id } = await subscribe(t.app, bad.id, `${theirs.url}/busy`)
  await backlog(t.app, bad.id, [id], 500)
  theirs.always({ status: 429, headers: { 'retry-after': '300' } })
  await start()
  const isQuiet = async () =>
    (await t.app.sql('select from delivery_targets where id = $1 and quiet_until > now()', [id])).length > 0
  await eventually(isQuiet)
  const asked = theirs.requests.length
  expect(asked).toBeLessThanOrEqual(4)
  await staysHealthy({ least: 34 })
  expect(theirs.requests).toHaveLength(asked)
  const [target] = await t.app.sql<{ left: number }>(
    `select extract(epoch from quiet_until - now())::float8 as left from delivery_targets where id = $1 and next_due_at >= quiet_until`,
    [id],
  )
  expect(target!.left).toBeGreaterThan(100)
})
