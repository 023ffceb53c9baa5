import { describe, expect, test } from 'vitest'
import { ok } from '../support/app.ts'
import { useDaemon, useDaemons } from '../support/daemons.ts'
import { deliveriesOf, emitEvents, eventually, latePosts, startDeliveries, subscribe } from '../support/deliveries.ts'
import { settlesWithin } from '../support/eventually.ts'
import {
  backlog,
  claimHundreds,
  heldBackMs,
  pastTimeout,
  postsAfterMoment,
  staysHealthy,
  subscribeMany,
} from '../support/neighbours.ts'
import { openReceiver } from '../support/receiver.ts'
import { useWorkers } from '../support/workers.ts'

const { t, account, receiver, delivered } = useWorkers()
const { start } = useDaemons(t)
const deliveries = () => deliveriesOf(t.app, account.id)

test('kill -9 under load, three times: every event arrives', async () => {
  // Slow enough that a daemon is killed while it has posts in flight and more to post.
  receiver.always({ delayMs: 100 })
  await subscribe(t.app, account.id, receiver.url)
  for (let round = 1; round <= 3; round++) {
    const daemon = await start()
    await emitEvents(t.app, account.id, 200)
    await receiver.arrived(receiver.requests.length + 50)
    await daemon.kill('SIGKILL')
  }
  receiver.always({})
  startDeliveries(t.app)
  await delivered(600)
  expect(new Set(receiver.requests.map(({ headers }) => headers['x-service-idempotency-key'])).size).toBe(600)
})

test('SIGTERM under load: exit 0, posts in flight are recorded, the other claims are released at once, no failure is counted', async () => {
  receiver.always({ delayMs: 300 })
  await subscribe(t.app, account.id, receiver.url)
  const daemon = await start()
  await emitEvents(t.app, account.id, 250)
  await receiver.arrived(30)
  expect(await daemon.stop()).toBe(0)
  expect(daemon.log()).not.toMatch(/job failed/)
  const rows = await deliveries()
  expect(rows.filter((row) => row.status === 'delivered')).toHaveLength(receiver.requests.length)
  expect(rows.every((row) => row.worker === null && row.attempts.every(({ error }) => error === null))).toBe(true)
  startDeliveries(t.app)
  expect(await settlesWithin(delivered(250), 20_000)).toBe(true)
  expect(receiver.requests).toHaveLength(250 + (await latePosts(t.app, account.id)))
})

describe('two daemons on one database', () => {
  useDaemon(t)
  useDaemon(t)

  test('share the deliveries: each is posted once', async () => {
    receiver.always({ delayMs: 20 })
    await subscribe(t.app, account.id, receiver.url)
    for (let i = 0; i < 4; i++) await emitEvents(t.app, account.id, 250)
    expect(await settlesWithin(delivered(1000), 20_000)).toBe(true)
    expect(receiver.requests).toHaveLength(1000 + (await latePosts(t.app, account.id)))
    expect(receiver.open).toBeGreaterThan(64)
  })

  test('post to a deleted webhook only what is in flight, and nothing a moment later', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    const { answer } = await claimHundreds(t.app, account.id, id, receiver)
    await ok(t.request('DELETE', `/webhooks/${id}`, { key: account.key }))
    const posts = await postsAfterMoment(receiver)
    answer()
    const pending = () => t.app.sql('select from pending_deliveries where account_id = $1', [account.id])
    expect(
      await settlesWithin(
        eventually(async () => (await pending()).length === 0),
        5000,
      ),
    ).toBe(true)
    // A daemon that has kept its other claims posts them now.
    expect(await postsAfterMoment(receiver)).toBe(posts)
  })
})

test('hundreds of hanging endpoints of twelve accounts with a backlog delay no other account', async () => {
  const theirs = await openReceiver()
  theirs.always({ mode: 'hang' })
  for (let i = 0; i < 12; i++) {
    const { id } = await t.account()
    await backlog(t.app, id, await subscribeMany(t.app, id, `${theirs.url}/${i}`, 50), 10)
  }
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id)
  await start()
  await receiver.arrived(1, heldBackMs)
  await theirs.arrived(32)
  await staysHealthy(t.app, account.id, receiver, { least: pastTimeout })
  await theirs.close()
})
