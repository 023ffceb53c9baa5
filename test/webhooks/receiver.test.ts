import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebhookEvent } from '../../src/events/shapes.ts'
import { type Arrival, openReceiver, type Receiver } from '../../src/webhooks/receiver.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { useContacts } from '../contacts/support.ts'
import { eventually, startDeliveries } from '../support/deliveries.ts'

let loop: { stop(): Promise<void> }
let receiver: Receiver
const arrivals: Arrival[] = []
const secret = Promise.withResolvers<string>()

const t = useContacts({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeAll(async () => {
  loop = startDeliveries(t.app)
  receiver = await openReceiver({
    port: 0,
    token: 'token',
    secret: () => secret.promise,
    now: t.app.now,
    answer(arrival) {
      arrivals.push(arrival)
      return { status: 204 }
    },
  })
})
afterAll(async () => {
  await loop?.stop()
  await receiver?.close()
})

test('the receiver takes the largest event: 40 changed columns, full of the characters that JSON writes longest', async () => {
  const account = await t.account()
  const { id: listId } = await t.list(account)
  const events = ['contact.updated' as const]
  const origin = { createdVia: 'dashboard', trusted: true } as const
  secret.resolve((await createWebhook(t.app, account.id, 'cli:test', { url: receiver.hookUrl, events }, origin)).secret)
  const fieldsOf = (character: string) =>
    Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}`.padEnd(100, '\u0001'), character.repeat(10_000)]))
  for (const character of ['\u0001', '\u0002']) {
    const { status } = await t.post(account, { listId, email: 'ada@acme.test', fields: fieldsOf(character) })
    expect(status).toBeLessThan(300)
  }
  await eventually(() => arrivals.length > 0)
  expect(arrivals).toMatchObject([{ type: 'contact.updated', verdict: 'ok' }])
  const { data } = arrivals[0]!.event as WebhookEvent<'contact.updated'>
  expect(data).toMatchObject({ contact: { fields: fieldsOf('\u0002') }, previous: fieldsOf('\u0001') })
  expect(arrivals[0]!.body.length).toBeGreaterThan(4_800_000)
})
