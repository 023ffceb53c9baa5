import { expect, test } from 'vitest'
import { newSigningSecret, signedHeaders } from '../../src/lib/signature.ts'
import { openRepeats, verifyWebhook } from '../../src/lib/webhooks.ts'

const secret = newSigningSecret()
const body = '{"id":"evt_1","type":"deal.created","createdAt":1,"data":{}}'
const nowMs = 1_800_000_000_000
const headers = signedHeaders(secret, nowMs, 'evt_1', body)
const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

test.each([
  ['as Node gives them', lower],
  ['in any case', headers],
  ['of fetch', new Headers(headers)],
])('a delivery is verified and read, with its headers %s', (_, given) => {
  expect(verifyWebhook(secret, given, body, { nowMs })).toEqual({
    verdict: 'ok',
    id: 'evt_1',
    type: 'deal.created',
    event: { id: 'evt_1', type: 'deal.created', createdAt: 1, data: {} },
  })
  expect(verifyWebhook(secret, given, Buffer.from(body), { nowMs }).verdict).toBe('ok')
})

test.each([
  ['another secret', newSigningSecret(), headers, body, nowMs, 'signature mismatch'],
  ['another body', secret, headers, body.replace('1', '2'), nowMs, 'signature mismatch'],
  ['no header', secret, {}, body, nowMs, 'headers missing'],
  ['five minutes and a second ago', secret, headers, body, nowMs + 301_000, 'timestamp too far off'],
  ['from the future', secret, headers, body, nowMs - 301_000, 'timestamp too far off'],
] as const)('%s is refused', (_, key, given, text, now, verdict) => {
  expect(verifyWebhook(key, given, text, { nowMs: now }).verdict).toBe(verdict)
})

test('the tolerance can be set', () => {
  expect(verifyWebhook(secret, headers, body, { nowMs: nowMs + 301_000, toleranceSeconds: 302 }).verdict).toBe('ok')
  expect(verifyWebhook(secret, headers, body, { nowMs: nowMs + 2000, toleranceSeconds: 1 }).verdict).not.toBe('ok')
})

test('while a secret is rotated both secrets verify, and no third', () => {
  const other = newSigningSecret()
  expect(verifyWebhook([other, secret], headers, body, { nowMs }).verdict).toBe('ok')
  expect(verifyWebhook([other, newSigningSecret()], headers, body, { nowMs }).verdict).toBe('signature mismatch')
})

test('during an overlap either secret verifies, in any place, and no part of a signature does', () => {
  const [former, other] = [newSigningSecret(), newSigningSecret()]
  const both = signedHeaders([secret, former], nowMs, 'evt_1', body)
  const verdict = (key: string, value = both['X-Service-Signature']) =>
    verifyWebhook(key, { ...both, 'X-Service-Signature': value }, body, { nowMs }).verdict
  expect(both['X-Service-Signature']).toMatch(/^v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  expect([secret, former, other].map((key) => verdict(key))).toEqual(['ok', 'ok', 'signature mismatch'])
  const [first, second] = both['X-Service-Signature'].split(',')
  for (const value of ['', ',', `${first}${second}`, `${first!.slice(0, -1)},`, `v1=,${second!.slice(3)}`])
    expect(verdict(secret, value)).toBe('signature mismatch')
  expect(verdict(secret, `${second},,v2=x,${first}`)).toBe('ok')
})

test('an empty secret throws, because anyone could sign with it', () => {
  const forged = signedHeaders('', nowMs, 'evt_1', body)
  for (const none of ['', [], [''], [secret, '']]) {
    expect(() => verifyWebhook(none, forged, body, { nowMs })).toThrow('secret')
  }
})

test('a repeat is recognised by the signed id, not by the header', () => {
  const isRepeat = openRepeats()
  const replayed = { ...headers, 'X-Service-Idempotency-Key': 'evt_2' }
  expect(isRepeat(verifyWebhook(secret, headers, body, { nowMs }).id)).toBe(false)
  expect(isRepeat(verifyWebhook(secret, replayed, body, { nowMs }).id)).toBe(true)
})

test('above its size the oldest ids are forgotten', () => {
  const isRepeat = openRepeats(2)
  expect(['a', 'b', 'c', 'b', 'a'].map(isRepeat)).toEqual([false, false, false, true, false])
})
