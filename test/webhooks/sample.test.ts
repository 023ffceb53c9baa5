import { expect, test } from 'vitest'
import { eventTypes } from '../../src/events/events.ts'
import { WebhookEventShape } from '../../src/events/shapes.ts'
import { ok, useAccount, useApp } from '../support/app.ts'
import type { Query } from '../support/replies.ts'

const t = useApp()
const account = useAccount(t)

const sample = (query: Query = '') => t.request('GET', `/events/sample${query}`, { key: account.key })

test('GET /events/sample answers one sample of each type, in the order of the contract', async () => {
  const { status, body } = await sample()
  expect(status).toBe(200)
  expect(Object.keys(body)).toEqual(['events'])
  expect(body.events.map((event) => event.type)).toEqual(eventTypes)
})

test.each(eventTypes)(
  'GET /events/sample?type=%s answers one event of its strict shape, not marked as a test',
  async (type) => {
    const { status, body } = await sample(`?type=${type}`)
    expect(status).toBe(200)
    expect(body.events).toHaveLength(1)
    expect(Object.keys(body.events[0]!)).toEqual(['id', 'type', 'createdAt', 'data'])
    expect(WebhookEventShape.parse(body.events[0])).toEqual(body.events[0])
    expect(body.events[0]!.type).toBe(type)
  },
)

test.each<[Query, string]>([
  ['?type=deal.won', 'type is not an event type: "deal.won"'],
  ['?type=', 'type is not an event type: ""'],
])('GET /events/sample%s answers 400', async (query, error) => {
  expect(await sample(query)).toMatchObject({ status: 400, body: { error } })
})

test('samples are not stored', async () => {
  await ok(sample())
  expect(await t.events(account.id)).toEqual([])
})
