import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { type Answer, openReceiver } from '../support/receiver.ts'

let loop: { stop(): Promise<void> }

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32' } })
beforeAll(async () => {
  loop = startDeliveries(t.app)
})
afterAll(() => loop?.stop())

describe('an attempt at a receiver that', () => {
  const outcomes: [string, Answer, string, Record<string, unknown>][] = [
    ['answers 500', { status: 500, body: 'oops' }, 'pending', { status: 500, error: 'answered 500', snippet: 'oops' }],
    ['answers 404', { status: 404 }, 'pending', { status: 404, error: 'answered 404' }],
    ['redirects', { status: 302, headers: { location: '/' } }, 'pending', { status: 302 }],
    ['resets', { mode: 'reset' }, 'pending', { status: null, error: 'connection closed before an answer' }],
    ['never answers', { mode: 'hang' }, 'pending', { status: null, error: 'timed out after 5 s' }],
    ['drips its body', { mode: 'drip' }, 'delivered', { status: 200, error: null }],
    ['answers without end', { mode: 'endless' }, 'delivered', { status: 200, error: null }],
    ['answers with a gzip bomb', { mode: 'bomb' }, 'delivered', { status: 200, error: null }],
    ['answers 204', { status: 204 }, 'delivered', { status: 204, error: null }],
    ['answers with a NUL character', { status: 500, body: 'a\0b' }, 'pending', { status: 500, snippet: 'a\ufffdb' }],
  ]
  test.concurrent.each(outcomes)('%s is recorded', async (_, answer, status, attempt) => {
    const own = await openReceiver()
    own.always(answer)
    const other = await t.account()
    const { id } = await subscribe(t.app, other.id, own.url)
    await emitEvents(t.app, other.id)
    const delivery = await eventually(async () => {
      const [found] = await deliveriesOf(t.app, other.id)
      return found!.tries === 1 && found
    })
    expect(delivery).toMatchObject({ status, attempts: [attempt], worker: null })
    const posts = own.requests.length
    // On a slow machine the next attempt may have begun, or the worker lost its lease, and with it its claims, during a post.
    const [latest] = await deliveriesOf(t.app, other.id)
    const { deliveries: freed } = Object.fromEntries(t.app.counters.counts('freedClaims'))
    expect(posts).toBeGreaterThan(0)
    expect(posts).toBeLessThanOrEqual(latest!.tries + (latest!.worker === null ? 0 : 1) + freed!)
    const [webhook] = await t.app.sql('select * from delivery_targets where id = $1', [id])
    const { last_error, last_failure_at, last_delivery_at } = webhook as Record<string, unknown>
    if (status === 'delivered') expect([last_error, last_failure_at]).toEqual([null, null])
    else expect([last_error, last_delivery_at]).toEqual([delivery.attempts[0]!.error, null])
    await own.close()
  })
})
