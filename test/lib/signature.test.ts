import { describe, expect, test } from 'vitest'
import { newSigningSecret, sign, signedHeaders, verify } from '../../src/lib/signature.ts'

const secret = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
const body = '{"id":"evt_1","n":"é"}'
const seconds = 1767225600
const nowMs = seconds * 1000
// printf '%s' '1767225600.{"id":"evt_1","n":"é"}' | openssl dgst -sha256 -hmac "$secret"
const signature = 'v1=e2b8afba04cf599e6ece4f15054e3118edee0f948f714f7275e183c3eb06bdac'

const headers = (timestamp: string, value: string) => ({
  'x-service-timestamp': timestamp,
  'x-service-signature': value,
})

describe('signature', () => {
  test('is v1= and the hex HMAC-SHA256 of <timestamp>.<raw body> under the whole secret', () => {
    expect(sign(secret, seconds, body)).toBe(signature)
    expect(sign(secret, seconds, Buffer.from(body))).toBe(signature)
  })

  test('the three headers of a delivery verify, also for raw bytes', () => {
    const sent = signedHeaders(secret, nowMs + 999, 'evt_1', body)
    expect(sent).toEqual({
      'X-Service-Timestamp': '1767225600',
      'X-Service-Signature': signature,
      'X-Service-Idempotency-Key': 'evt_1',
    })
    const received = Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]))
    expect(verify(secret, received, Buffer.from(body), nowMs)).toBe('ok')
  })

  test.each([
    ['another body', headers(String(seconds), signature), `${body} `, nowMs, 'signature mismatch'],
    ['another timestamp', headers(String(seconds + 1), signature), body, nowMs, 'signature mismatch'],
    ['a cut signature', headers(String(seconds), signature.slice(0, -1)), body, nowMs, 'signature mismatch'],
    ['no signature', { 'x-service-timestamp': String(seconds) }, body, nowMs, 'headers missing'],
    ['no timestamp', { 'x-service-signature': signature }, body, nowMs, 'headers missing'],
    ['a timestamp that is not a number', headers('1e9', signature), body, nowMs, 'timestamp malformed'],
    ['a timestamp at the tolerance', headers(String(seconds), signature), body, nowMs + 300_000, 'ok'],
    ['an old timestamp', headers(String(seconds), signature), body, nowMs + 301_000, 'timestamp too far off'],
    ['a timestamp in the future', headers(String(seconds), signature), body, nowMs - 301_000, 'timestamp too far off'],
  ])('verifies %s', (_, given, raw, now, verdict) => {
    expect(verify(secret, given, raw, now)).toBe(verdict)
  })

  test('another secret does not verify', () => {
    expect(verify(newSigningSecret(), headers(String(seconds), signature), body, nowMs)).toBe('signature mismatch')
  })

  test('a new secret is whsec_ and 32 bytes in base64url', () => {
    expect(newSigningSecret()).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/)
    expect(newSigningSecret()).not.toBe(newSigningSecret())
  })
})
