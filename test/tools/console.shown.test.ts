import { describe, expect, test } from 'vitest'
import { eventTypes } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { newSigningSecret } from '../../src/lib/signature.ts'
import { shownJson, shownJsonText, shownQuery, subjectOf } from '../../src/tools/console/console.shown.ts'

describe('the content of a call', () => {
  test('shows no secret, by the name of the property or by the form of the text', () => {
    const secrets = {
      secret: newSigningSecret(),
      note: `use svc_live_${'a'.repeat(40)} or Bearer abc.def`,
      list: [{ smtpPassword: 'hunter2', 'api-key': 'hunter3', embedToken: { inner: 'hunter4' } }],
      joinUrl: `http://127.0.0.1:4800/join/${'t0ken-'.repeat(10)}`,
      portalUrl: `http://127.0.0.1:4800/harbour/crs_1/embed?token=${'t0ken_'.repeat(10)}&x=1`,
      stripe: 'sk_test_51abc rk_live_9x',
    }
    const text = shownJson(secrets)
    expect(text).not.toMatch(/hunter|t0ken|aaaa|abc|9x|whsec_\w/)
    expect(JSON.parse(text)).toMatchObject({
      secret: '…',
      note: 'use svc_live_… or Bearer …',
      joinUrl: 'http://127.0.0.1:4800/join/…',
      portalUrl: 'http://127.0.0.1:4800/harbour/crs_1/embed?token=…&x=1',
      stripe: 'sk_test_… rk_live_…',
    })
    expect(shownJsonText(JSON.stringify(secrets))).toBe(text)
    expect(shownQuery(`?email=ada%40example.org&token=short&cursor=${'c'.repeat(60)}`)).toBe(
      '?email=ada@example.org&token=…&cursor=…',
    )
  })

  test('keeps ids, addresses and null', () => {
    const plain = { apiKeyId: 'key_01m80h0mcx04rxxvxgbf0v50ys', email: 'ada@example.org', secret: null, n: 1, is: true }
    expect(JSON.parse(shownJson(plain))).toEqual(plain)
  })

  test('is bounded, whatever its size and shape', () => {
    const deep = Array.from({ length: 50 }).reduce<unknown>((inner) => ({ inner }), 'x')
    const wide = Array.from({ length: 500 }, () => Object.fromEntries(Array.from({ length: 500 }, (_, n) => [n, 'v'])))
    for (const value of [deep, wide, 'x'.repeat(1e6), { content: Buffer.alloc(1e6) }])
      expect(shownJson(value).length).toBeLessThan(17_000)
    expect(shownJson(['x'.repeat(2000)])).toContain('… (2000 characters)')
    expect(shownJson({ content: Buffer.alloc(9) })).toContain('(9 bytes)')
    expect(JSON.parse(shownJson(Array.from({ length: 30 }, (_, n) => n))).at(-1)).toBe('… 10 more')
    expect(shownJsonText(`"${'x'.repeat(600_000)}"`)).toBe('(600002 characters)')
    expect(shownQuery(`?q=${'x '.repeat(1000)}`).length).toBeLessThan(310)
  })
})

test('each event has a subject that names its person and its thing', () => {
  const subjects = Object.fromEntries(eventTypes.map((type) => [type, subjectOf(sampleEvent(type, { now: 1e12 }))]))
  const ada = 'ada.okafor@northwind.example'
  expect(subjects).toEqual({
    'interaction.received': `rating: 4 · ${ada}`,
    'form.submitted': `Newsletter signup · ${ada}`,
    'contact.created': `${ada} · Customers`,
    'contact.updated': `${ada} · Customers · plan changed · company changed`,
    'lead.hot': ada,
    'lead.new': `Newsletter signup · ${ada}`,
    'booking.created': `Product walkthrough · ${ada}`,
    'booking.cancelled': `Product walkthrough · ${ada}`,
    'deal.created': `Annual plan, 25 seats · Qualified · 12,500.5 USD · ${ada}`,
    'deal.stage_changed': `Annual plan, 25 seats · Qualified · 12,500.5 USD · ${ada}`,
    'purchase.completed': `59.8 USD · ${ada}`,
    'journey.completed': `Welcome series · ${ada}`,
  })
  for (const other of [null, 7, 'x', [], {}, { data: null }, { data: { deal: 1, contact: { email: {} } } }])
    expect(subjectOf(other)).toBe('')
})
