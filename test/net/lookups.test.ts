import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLookups, type Lookups } from '../../src/net/lookups.ts'
import { createResolver, type Resolver } from '../../src/net/resolver.ts'
import { useDnsServer } from '../support/dns.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { limit } from '../support/slowness.ts'

const limitMs = limit(1500)
const isLate = /^(ETIMEOUT|ECANCELLED)$/

let resolver: Resolver
let lookups: Lookups

const dns = useDnsServer()
beforeAll(async () => {
  resolver = createResolver([dns.address])
  lookups = createLookups(resolver, limitMs)
})

afterAll(async () => {
  resolver.close()
})

const asked = (name: string) => dns.queries.filter((query) => query === `A ${name}`).length
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error) => error.code,
  )

/** Looks up `count` silent names for an account; returns the error code of each. */
const lookUpSilent = (prefix: string, count: number, accountId: string): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, (_, i) => {
      dns.set(`${prefix}${i}.test`, { mode: 'silent' })
      return codeOf(lookups.addresses(`${prefix}${i}.test`, accountId))
    }),
  )
const askedOf = (prefix: string) => new Set(dns.queries.filter((query) => query.startsWith(`A ${prefix}`))).size

describe('a look-up for a connection', () => {
  test('is shared by all concurrent callers for a name, in any case, with or without a final dot', async () => {
    dns.set('shared.test', { A: ['203.0.113.1'] })
    const names = ['shared.test', 'SHARED.test', 'shared.test.']
    const found = await Promise.all(Array.from({ length: 60 }, (_, i) => lookups.addresses(names[i % 3]!, `acc${i}`)))
    expect(new Set(found.map((addresses) => addresses[0]?.address))).toEqual(new Set(['203.0.113.1']))
    expect(asked('shared.test')).toBe(1)
  })

  test('is cached for a moment and then repeated', async () => {
    dns.set('change.test', (before) => ({ A: [`203.0.113.${before}`] }))
    const find = async () => (await lookups.addresses('change.test', 'acc'))[0]!.address
    expect(await find()).toBe('203.0.113.0')
    expect(await find()).toBe('203.0.113.0')
    await eventually(async () => (await find()) === '203.0.113.1')
  })

  test('that fails is not cached', async () => {
    expect(await codeOf(lookups.addresses('soon.test', 'acc'))).toBe('ENOTFOUND')
    dns.set('soon.test', { A: ['203.0.113.1'] })
    expect(await lookups.addresses('soon.test', 'acc')).toEqual([{ address: '203.0.113.1', family: 4 }])
  })

  test('ends at its time limit', async () => {
    expect(await lookUpSilent('one', 1, 'acc')).toEqual([expect.stringMatching(isLate)])
  })
})

describe('an account', () => {
  test('looks up 16 names at once; the others wait for their turn within their time limit', async () => {
    const codes = lookUpSilent('many', 200, 'crowded')
    await eventually(() => askedOf('many') === 16)
    expect(await settlesWithin(codes, limitMs * 2)).toBe(true)
    expect((await codes).filter((code) => !isLate.test(code))).toEqual([])
    // A look-up that timed out in the queue sends no query: the next query is that of a later look-up.
    dns.set('after.test', { A: ['203.0.113.2'] })
    await lookups.addresses('after.test', 'crowded')
    expect(askedOf('many')).toBeLessThan(50)
  })

  test('starts its next look-up as soon as one is answered', async () => {
    const found = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        dns.set(`next${i}.test`, { A: ['203.0.113.3'] })
        return lookups.addresses(`next${i}.test`, 'busy')
      }),
    )
    expect(found.every(([address]) => address?.address === '203.0.113.3')).toBe(true)
  })

  test('waits only for its own silent names: another account gets the same name at once', async () => {
    dns.set('common.test', { A: ['203.0.113.4'] })
    const codes = lookUpSilent('own', 20, 'noisy')
    const waiting = codeOf(lookups.addresses('common.test', 'noisy'))
    const found = lookups.addresses('common.test', 'quiet')
    expect(await Promise.race([found, codes])).toEqual([{ address: '203.0.113.4', family: 4 }])
    await Promise.all([codes, waiting])
  })
})
