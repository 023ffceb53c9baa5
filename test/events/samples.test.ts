import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildData, eventTypes } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { dataShapes, WebhookEventShape } from '../../src/events/shapes.ts'

const now = Date.UTC(2026, 0, 1)

/** The top-level properties of `data`, as docs/reference/events.md#payloads lists them. */
const contract = {
  'interaction.received': ['interaction', 'project', 'recipient', 'source'],
  'form.submitted': ['source', 'form', 'fields', 'contact', 'submittedAt'],
  'contact.created': ['contact'],
  'contact.updated': ['contact', 'changed', 'previous'],
  'lead.hot': ['contact', 'score', 'previousScore', 'threshold'],
  'lead.new': ['contact', 'source', 'form'],
  'booking.created': ['booking'],
  'booking.cancelled': ['booking', 'cancelledBy', 'reason'],
  'deal.created': ['deal'],
  'deal.stage_changed': ['deal', 'fromStageId'],
  'purchase.completed': ['purchase', 'project', 'contact'],
  'journey.completed': ['journey', 'runId', 'contact', 'enteredAt', 'completedAt'],
}

describe('events', () => {
  test('there are exactly the twelve types of the contract', () => {
    expect(eventTypes).toEqual(Object.keys(contract))
    expect(Object.keys(dataShapes)).toEqual(Object.keys(contract))
  })

  test.each(eventTypes)('the sample of %s is a whole event of its strict shape', (type) => {
    const event = sampleEvent(type, { now })
    expect(Object.keys(event)).toEqual(['id', 'type', 'createdAt', 'data'])
    expect(event).toMatchObject({ id: expect.stringMatching(/^evt_/), type, createdAt: now })
    expect(Object.keys(event.data)).toEqual(contract[type])
    expect(WebhookEventShape.parse(event)).toEqual(event)
    expect(JSON.parse(JSON.stringify(event))).toEqual(event)
  })

  test.each(eventTypes)('a test send of %s has test: true inside data and otherwise the same shape', (type) => {
    const { test: mark, ...data } = sampleEvent(type, { now, test: true }).data
    expect(mark).toBe(true)
    expect(dataShapes[type].safeParse(data).error).toBeUndefined()
  })

  test('an interaction has the id prefix of interactions', () => {
    const { interaction } = sampleEvent('interaction.received', { now }).data as { interaction: { id: string } }
    expect(interaction.id).toMatch(/^int_/)
  })

  test('other properties of an input do not reach the payload', () => {
    const { deal } = sampleEvent('deal.created', { now }).data
    const wider = { deal, fromStageId: 'stg_1', accountId: 'acc_1' }
    expect(buildData('deal.stage_changed', wider)).toEqual({ deal, fromStageId: 'stg_1' })
  })

  test('a payload with an extra or a missing property is refused', () => {
    const event = sampleEvent('deal.created', { now })
    expect(WebhookEventShape.safeParse({ ...event, data: { ...event.data, more: 1 } }).success).toBe(false)
    expect(WebhookEventShape.safeParse({ ...event, data: {} }).success).toBe(false)
    expect(WebhookEventShape.safeParse({ ...event, type: 'deal.stage_changed' }).success).toBe(false)
  })

  test('the shapes have a JSON schema for the OpenAPI document', () => {
    expect(JSON.stringify(z.toJSONSchema(WebhookEventShape))).toContain('"const":"journey.completed"')
  })
})
