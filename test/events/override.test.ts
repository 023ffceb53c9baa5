import { describe, expect, test } from 'vitest'
import { overrideData, replaceData } from '../../src/events/override.ts'
import { sampleEvent } from '../../src/events/samples.ts'

const event = sampleEvent('deal.created', { now: Date.UTC(2026, 0, 1), test: true })
const contact = sampleEvent('contact.updated', { now: Date.UTC(2026, 0, 1) })
const usage = (message: string) => expect.objectContaining({ kind: 'usage', message: expect.stringContaining(message) })

describe('values set by --set in a sample', () => {
  test('a value is JSON if it parses, else text; the rest and the sample stay unchanged', () => {
    const before = structuredClone(event)
    const changed = overrideData(event, [
      ['data.deal.value', '9'],
      ['data.deal.title', 'Nine lives'],
      ['data.deal.stage', 'null'],
      ['data.deal.currency', '"9"'],
    ])
    expect(changed.data).toEqual({
      ...event.data,
      deal: { ...event.data.deal, value: 9, title: 'Nine lives', stage: null, currency: '9' },
    })
    expect(event).toEqual(before)
  })

  test('items of an array and values that were set before can be set', () => {
    expect(overrideData(contact, [['data.changed.1', 'city']]).data).toMatchObject({ changed: ['plan', 'city'] })
    const twice = overrideData(event, [
      ['data.deal', '{"id":"deal_1"}'],
      ['data.deal.id', 'deal_2'],
    ])
    expect(twice.data).toMatchObject({ deal: { id: 'deal_2' } })
  })

  test.each([
    'data.deal.valu',
    'data.deals.value',
    'data.deal.value.cents',
    'data.deal.',
    'data.__proto__',
    'data.__proto__.polluted',
    'data.deal.__proto__.polluted',
    'data.constructor.prototype.polluted',
    'data.deal.toString',
    'data..deal',
  ])('%s is refused, never ignored', (path) => {
    expect(() => overrideData(event, [[path, '1']])).toThrow(usage(path))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each(['data.changed.9', 'data.changed.length', 'data.changed.push'])('%s of an array is refused', (path) => {
    expect(() => overrideData(contact, [[path, '1']])).toThrow(usage(path))
  })

  test.each(['id', 'data', 'createdAt', 'deal.value', ''])('%j is refused: it is not inside data', (path) => {
    expect(() => overrideData(event, [[path, '1']])).toThrow(usage('is not inside data'))
  })

  test('the error lists the available properties', () => {
    expect(() => overrideData(event, [['data.deals', '1']])).toThrow(
      expect.objectContaining({ detail: { hint: 'data has deal, test' } }),
    )
  })

  test('the mark of a test can not be changed', () => {
    for (const value of ['false', 'true', '""'])
      expect(() => overrideData(event, [['data.test', value]])).toThrow('data.test stays true')
  })

  test('data from a file replaces data and keeps test: true', () => {
    expect(replaceData(event, { any: 1 })).toEqual({ ...event, data: { any: 1, test: true } })
    expect(replaceData(contact, { any: 1 })).toEqual({ ...contact, data: { any: 1 } })
    for (const data of [[], null, 'x', 3])
      expect(() => replaceData(event, data)).toThrow(usage('must be a JSON object'))
  })
})
