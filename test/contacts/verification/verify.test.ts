import { beforeAll, describe, expect, test } from 'vitest'
import { verifyAddresses, writeContacts } from '../../../src/contacts/contacts.ts'
import { createResolver, type Resolver } from '../../../src/net/resolver.ts'
import { settlesWithin } from '../../support/eventually.ts'
import { limit } from '../../support/slowness.ts'
import { useContacts } from '../support.ts'

let now = Date.now()

const app = useContacts(() => ({ now: () => new Date(now) }))
beforeAll(async () => {
  const mx = { MX: [[10, 'mx.example.net']] as [number, string][] }
  for (const domain of ['gmail.com', 'outlok.com', 'gmx.net', 'example.org', 'mail.com', 'mailinator.com'])
    app.dns.set(domain, mx)
  app.dns.set('xn--bcher-kva.test', mx)
  app.dns.set('null.test', { MX: [[0, '.']] })
  app.dns.set('nothing.test', {})
  app.dns.set('address-only.test', { A: ['192.0.2.7'] })
  app.dns.set(longDomain(250), mx)
  app.dns.set('silent.test', { mode: 'silent' })
  app.dns.set('broken.test', { mode: 'servfail' })
})

/** Returns a domain of `length` characters, in labels that DNS accepts. */
const longDomain = (length: number): string => `${'a.'.repeat(length / 2 - 2)}test`

const judge = async (email: string) => {
  const { status, reasons } = (await verifyAddresses(app.app, [email])).get(email)!
  return [status, ...reasons]
}

describe('a verification', () => {
  test.each([
    ['ada@acme.test', ['valid']],
    ['ada@address-only.test', ['valid']],
    ['ada@bücher.test', ['valid']],
    ['ada+tag@gmail.com', ['valid']],
    ['ada@gmx.net', ['valid']],
    ['ada@example.org', ['valid']],
    ['ada@mail.com', ['valid']],
    ['ada wrong', ['invalid', 'bad_syntax']],
    ['a..b@acme.test', ['invalid', 'bad_syntax']],
    ['ada@@acme.test', ['invalid', 'bad_syntax']],
    [`${'a'.repeat(65)}@acme.test`, ['invalid', 'bad_syntax']],
    ['ada@localhost', ['invalid', 'bad_syntax']],
    ['ada@missing.test', ['invalid', 'domain_not_found']],
    ['ada@null.test', ['invalid', 'null_mx']],
    ['ada@nothing.test', ['invalid', 'no_mx']],
    ['ada@mailinator.com', ['risky', 'disposable']],
    ['sales@acme.test', ['risky', 'role_account']],
    ['no-reply+x@acme.test', ['risky', 'role_account']],
    ['ada@outlok.com', ['risky', 'typo_domain']],
    ['info@mailinator.com', ['risky', 'disposable', 'role_account']],
    ['info@null.test', ['invalid', 'null_mx', 'role_account']],
    ['ada@broken.test', ['unknown', 'dns_error']],
    ['info@broken.test', ['risky', 'role_account', 'dns_error']],
    [`ada@${longDomain(250)}`, ['valid']],
    [`adam@${longDomain(250)}`, ['invalid', 'bad_syntax']],
    [`ad~m@${longDomain(250)}`, ['invalid', 'bad_syntax']],
  ])('of %s is %j', async (email, verification) => {
    expect(await judge(email)).toEqual(verification)
  })

  test('of a silent name server is unknown within 2 s', async () => {
    const judged = judge('ada@silent.test')
    expect(await settlesWithin(judged, 2600)).toBe(true)
    expect(await judged).toEqual(['unknown', 'dns_timeout'])
  })
})

const asked = (name: string) => app.dns.queries.filter((query) => query === `MX ${name}`).length

describe('DNS', () => {
  test('is queried once for each domain, and not again for 24 hours', async () => {
    app.dns.set('once.test', { MX: [[10, 'mx.once.test']] })
    await verifyAddresses(app.app, ['a@once.test', 'b@once.test', 'c@once.test'])
    now += 23 * 3_600_000
    await verifyAddresses(app.app, ['d@once.test'])
    expect(asked('once.test')).toBe(1)
    now += 2 * 3_600_000
    await verifyAddresses(app.app, ['d@once.test'])
    expect(asked('once.test')).toBe(2)
  })

  test('is queried once for a domain that many calls name at the same time', async () => {
    app.dns.set('crowd.test', { MX: [[10, 'mx.crowd.test']] })
    // A query is sent again after a third of its limit: too soon for a busy machine.
    const mail: Resolver['mail'] = (domain, _, owner) => app.app.resolver.mail(domain, limit(2000), owner)
    const patient = { ...app.app, resolver: { ...app.app.resolver, mail } }
    const emails = Array.from({ length: 20 }, (_, i) => `c${i}@crowd.test`)
    const judged = await Promise.all(emails.map((email) => verifyAddresses(patient, [email])))
    expect(judged).toEqual(emails.map((email) => new Map([[email, { status: 'valid', reasons: [] }]])))
    expect(asked('crowd.test')).toBe(1)
  })

  test('a negative answer is cached for an hour', async () => {
    await judge('a@late.test')
    app.dns.set('late.test', { MX: [[10, 'mx.late.test']] })
    now += 59 * 60_000
    expect(await judge('a@late.test')).toEqual(['invalid', 'domain_not_found'])
    now += 2 * 60_000
    expect(await judge('a@late.test')).toEqual(['valid'])
  })

  test('is not queried for a list that does not exist, nor for a list of another account', async () => {
    const [account, other] = [await app.account(), await app.account()]
    const { id: foreign } = await app.list(other)
    for (const listId of ['lst_none', foreign]) {
      const email = 'ada@no-list.test'
      for (const body of [
        { listId, email },
        { listId, contacts: [{ email }] },
      ])
        expect(await app.post(account, body)).toMatchObject({ status: 404, body: { error: 'There is no such list' } })
    }
    expect(asked('no-list.test')).toBe(0)
  })

  test('is not queried for a malformed address', async () => {
    await judge('a..b@never-asked.test')
    expect(asked('never-asked.test')).toBe(0)
  })
})

describe('an interrupted query', () => {
  const kept = () => app.app.sql<{ domain: string }>(`select domain from mail_domains where domain like '%.short.test'`)

  test('is not cached as an answer if the limit of 2 s interrupts it', async () => {
    const domains = Array.from({ length: 64 }, (_, i) => `d${i}.short.test`)
    for (const domain of domains) app.dns.set(domain, { MX: [[10, 'mx.acme.test']], delayMs: 400 })
    app.dns.set('last.short.test', { mode: 'silent' })
    const emails = [...domains, 'last.short.test'].map((domain) => `ada@${domain}`)
    const verifications = await verifyAddresses(app.app, emails)
    expect(verifications.get('ada@d0.short.test')).toEqual({ status: 'valid', reasons: [] })
    expect(verifications.get('ada@last.short.test')).toEqual({ status: 'unknown', reasons: ['dns_timeout'] })
    expect(asked('last.short.test')).toBeGreaterThan(0)
    expect((await kept()).map((row) => row.domain).sort()).toEqual(domains.sort())
  })

  test('is not cached as an answer if the end of its process interrupts it', async () => {
    app.dns.set('ending.short.test', { mode: 'silent' })
    const resolver = createResolver([app.dns.address])
    const judged = verifyAddresses({ ...app.app, resolver }, ['ada@ending.short.test'])
    while (asked('ending.short.test') === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    resolver.close()
    expect((await judged).get('ada@ending.short.test')).toMatchObject({ status: 'unknown' })
    expect((await kept()).some((row) => row.domain === 'ending.short.test')).toBe(false)
  })
})

test('an inconclusive result never replaces a conclusive one', async () => {
  const account = await app.account()
  const { id: listId } = await app.list(account)
  const write = (status: 'valid' | 'unknown' | 'invalid', reasons: string[]) =>
    app.app.work(account.id, 'cli:test', (work) =>
      writeContacts(work, listId, [{ email: 'a@b.test', fields: {} }], new Map([['a@b.test', { status, reasons }]])),
    )
  const status = async () => (await app.get(account, 'email=a@b.test')).body.contacts[0].verification.status
  await write('valid', [])
  await write('unknown', ['dns_timeout'])
  expect(await status()).toBe('valid')
  await write('invalid', ['no_mx'])
  expect(await status()).toBe('invalid')
})
