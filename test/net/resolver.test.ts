import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withReserved } from '../../src/net/reserved.ts'
import { createResolver, parseServers, type Resolver } from '../../src/net/resolver.ts'
import { openDnsServer, useDnsServer } from '../support/dns.ts'
import { settlesWithin } from '../support/eventually.ts'
import { limit } from '../support/slowness.ts'

let resolver: Resolver

const dns = useDnsServer()
beforeAll(async () => {
  resolver = createResolver([dns.address])
  dns.set('both.test', { A: ['203.0.113.1', '203.0.113.2'], AAAA: ['2001:db8::1'] })
  dns.set('four.test', { A: ['203.0.113.4'] })
  dns.set('six.test', { AAAA: ['2001:db8::6'] })
  dns.set('empty.test', {})
  dns.set('silent.test', { mode: 'silent' })
  dns.set('broken.test', { mode: 'servfail' })
  dns.set('mail.test', { MX: [[10, 'mx.mail.test']] })
  dns.set('nomail.test', { MX: [[0, '.']], A: ['203.0.113.1'] })
  dns.set('xn--bcher-kva.test', { MX: [[10, 'mx.mail.test']] })
})

afterAll(async () => {
  resolver.close()
})

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error) => error.code,
  )

describe('the addresses of a name', () => {
  test('are those of both families', async () => {
    const found = await resolver.addresses('both.test', limit(2000))
    expect(found.toSorted((a, b) => a.address.localeCompare(b.address))).toEqual([
      { address: '2001:db8::1', family: 6 },
      { address: '203.0.113.1', family: 4 },
      { address: '203.0.113.2', family: 4 },
    ])
  })

  test('may be of one family only', async () => {
    expect(await resolver.addresses('four.test', limit(2000))).toEqual([{ address: '203.0.113.4', family: 4 }])
    expect(await resolver.addresses('six.test', limit(2000))).toEqual([{ address: '2001:db8::6', family: 6 }])
  })

  test('are looked up again each time', async () => {
    dns.set('change.test', (before) => ({ A: [`203.0.113.${before}`] }))
    expect(await resolver.addresses('change.test', limit(2000))).toEqual([{ address: '203.0.113.0', family: 4 }])
    expect(await resolver.addresses('change.test', limit(2000))).toEqual([{ address: '203.0.113.1', family: 4 }])
  })

  test.each([
    ['absent.test', 'ENOTFOUND'],
    ['empty.test', 'ENODATA'],
    ['broken.test', 'ESERVFAIL'],
  ])('fail to resolve: %s with %s', async (name, code) => {
    expect(await codeOf(resolver.addresses(name, limit(2000)))).toBe(code)
  })

  test('fail at the time limit if the name server is silent', async () => {
    const code = codeOf(resolver.addresses('silent.test', 300))
    expect(await settlesWithin(code, 1000)).toBe(true)
    expect(['ETIMEOUT', 'ECANCELLED']).toContain(await code)
  })

  test('are read from the hosts file if no name servers are set', async () => {
    const found = await createResolver([]).addresses('localhost', limit(2000))
    expect(['127.0.0.1', '::1']).toContain(found[0]?.address)
  })

  test('are not looked up once the resolver is closed', async () => {
    const other = createResolver([dns.address])
    other.close()
    expect(await codeOf(other.addresses('closed.test', limit(2000)))).toBe('ECANCELLED')
    expect(dns.queries).not.toContain('A closed.test')
  })

  test('for mail are reported as timeout once the resolver is closed', async () => {
    const other = createResolver([dns.address])
    other.close()
    expect(await other.mail('closed.test', limit(2000))).toBe('timeout')
    expect(dns.queries).not.toContain('MX closed.test')
  })

  test('fail at once if the resolver is closed during the look-up', async () => {
    const other = createResolver([dns.address])
    const waiting = codeOf(other.addresses('silent.test', 20_000))
    other.close()
    expect(await waiting).toBe('ECANCELLED')
  })
})

describe('the hosts file', () => {
  let folder: string
  let hostsFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-hosts-'))
    hostsFile = join(folder, 'hosts')
  })
  afterAll(() => rm(folder, { recursive: true }))

  const find = (name: string) => createResolver([], { hostsFile }).addresses(name, limit(2000))

  test('may name several hosts per line, in any case and both families; comments and invalid lines are skipped', async () => {
    const lines = [
      '# nothing 203.0.113.9 comment.test',
      '203.0.113.1\tOne.test  two.test # three.test',
      '  2001:db8::1 ONE.TEST one.test',
      '203.0.113.300 broken.test',
      'words alone.test',
      '203.0.113.2 two.test\r',
      '203.0.113.3',
      '203.0.113.4 last.test',
    ]
    await writeFile(hostsFile, lines.join('\n'))
    const one = [
      { address: '203.0.113.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ]
    expect(await find('one.test')).toEqual(one)
    expect(await find('oNe.TEST.')).toEqual(one)
    expect((await find('two.test')).map(({ address }) => address)).toEqual(['203.0.113.1', '203.0.113.2'])
    expect(await find('last.test')).toEqual([{ address: '203.0.113.4', family: 4 }])
  })

  test('is read again when it changes, and may be created later', async () => {
    await rm(hostsFile, { force: true })
    const system = createResolver([], { hostsFile })
    expect(await codeOf(system.addresses('late.invalid', 100))).not.toBe('resolved')
    await writeFile(hostsFile, '203.0.113.5 late.invalid\n')
    expect(await system.addresses('late.invalid', 100)).toEqual([{ address: '203.0.113.5', family: 4 }])
    await writeFile(hostsFile, '203.0.113.60 late.invalid\n')
    expect(await system.addresses('late.invalid', 100)).toEqual([{ address: '203.0.113.60', family: 4 }])
    system.close()
  })

  test('is not read if name servers are set', async () => {
    await writeFile(hostsFile, '203.0.113.7 four.test\n')
    const named = createResolver([dns.address], { hostsFile })
    expect(await named.addresses('four.test', limit(2000))).toEqual([{ address: '203.0.113.4', family: 4 }])
    named.close()
  })
})

test('name servers are ip[:port], comma-separated', () => {
  expect(parseServers(' 127.0.0.1, 127.0.0.1:5353 ,::1,[::1]:53,')).toEqual([
    '127.0.0.1',
    '127.0.0.1:5353',
    '::1',
    '[::1]:53',
  ])
  for (const text of ['dns.test', '127.0.0', '999.0.0.1', '127.0.0.1 127.0.0.2']) {
    expect(() => parseServers(text)).toThrow('SVC_DNS_SERVERS must be ip[:port], comma-separated')
  }
})

describe('a mail domain', () => {
  test.each([
    ['mail.test', 'mx'],
    ['MAIL.test', 'mx'],
    ['bücher.test', 'mx'],
    ['four.test', 'mx'],
    ['six.test', 'mx'],
    ['nomail.test', 'null_mx'],
    ['empty.test', 'no_mx'],
    ['absent.test', 'domain_not_found'],
    [`${'a'.repeat(64)}.test`, 'domain_not_found'],
    ['exa mple.test', 'domain_not_found'],
    ['broken.test', 'error'],
  ])('%s is classified as %s', async (domain, fact) => {
    expect(await resolver.mail(domain, limit(2000))).toBe(fact)
  })

  test('that several callers look up at the same time is queried once', async () => {
    dns.set('crowd.test', { MX: [[10, 'mx.mail.test']] })
    const facts = await Promise.all([1, 2, 3].map(() => resolver.mail('crowd.test', limit(2000))))
    expect(facts).toEqual(['mx', 'mx', 'mx'])
    expect(dns.queries.filter((query) => query === 'MX crowd.test')).toEqual(['MX crowd.test'])
  })

  test('is queried again by a caller who has more time than the one whose query ended', async () => {
    let isSilent = true
    dns.set('patience.test', () => (isSilent ? { mode: 'silent' } : { MX: [[10, 'mx.mail.test']] }))
    const hasty = resolver.mail('patience.test', 300)
    const patient = resolver.mail('patience.test', limit(20_000))
    expect(await hasty).toBe('timeout')
    isSilent = false
    expect(await patient).toBe('mx')
  })

  test('whose name server is silent is classified as timeout at the time limit', async () => {
    const fact = resolver.mail('silent.test', 300)
    expect(await settlesWithin(fact, 1000)).toBe(true)
    expect(await fact).toBe('timeout')
  })

  test('whose name server cannot be reached is classified as error or timeout, never as an invalid domain', async () => {
    const gone = await openDnsServer()
    await gone.close()
    expect(['error', 'timeout']).toContain(await createResolver([gone.address]).mail('mail.test', limit(1000)))
  })

  test('look-ups of 500 silent domains at once end within 3 s', async () => {
    const domains = Array.from({ length: 500 }, (_, i) => `silent${i}.test`)
    for (const domain of domains) dns.set(domain, { mode: 'silent' })
    const facts = Promise.all(domains.map((domain) => resolver.mail(domain, 500)))
    expect(await settlesWithin(facts, 3000)).toBe(true)
    // 256 are looked up at once; the others may get no turn within the time limit.
    expect((await facts).filter((fact) => fact === 'timeout').length).toBeGreaterThanOrEqual(256)
    expect((await facts).filter((fact) => fact !== 'timeout' && fact !== null)).toEqual([])
  })
})

test('at most 256 queries run at once, and their owners take turns', async () => {
  for (let i = 0; i < 60 * 64; i++) dns.set(`d${i}.silent.test`, { mode: 'silent' })
  // Queries of earlier tests may still arrive, and are not counted.
  const asking = () => new Set(dns.queries.filter((query) => query.includes('.silent.test'))).size
  const owners = Array.from({ length: 60 }, () => ({}))
  const asked = owners.flatMap((owner, o) =>
    Array.from({ length: 64 }, (_, i) => resolver.mail(`d${o * 64 + i}.silent.test`, limit(3000), owner)),
  )
  await expect.poll(asking).toBe(256)
  // Another owner is next as soon as the first queries end, although 3,584 queries waited before it.
  expect(await resolver.mail('mail.test', limit(9000), {})).toBe('mx')
  const facts = await Promise.all(asked)
  // The first queries end at the moment when the others give up. On a busy machine some of these still get a turn: 984 in one run.
  expect(facts.filter((fact) => fact === null).length).toBeGreaterThan(facts.length / 2)
  expect(facts.filter((fact) => fact === 'timeout').length).toBeGreaterThanOrEqual(256)
})

test('in development, reserved names have fixed answers, and no name server is asked', async () => {
  const asked: string[] = []
  const mail: Resolver['mail'] = async (domain) => {
    asked.push(domain)
    return 'no_mx'
  }
  const reserved = withReserved({ ...resolver, mail })
  const factOf = (domain: string) => reserved.mail(domain, limit(2000))
  const taking = [
    'example.com',
    'example.net',
    'Example.org',
    'mail.example.com',
    'shop.example',
    'a.b.test',
    'x.localhost',
  ]
  for (const domain of taking) expect(await factOf(domain), domain).toBe('mx')
  for (const domain of ['gone.invalid', 'a.b.INVALID']) expect(await factOf(domain), domain).toBe('domain_not_found')
  expect(asked).toEqual([])
  const others = ['example.de', 'anexample.com', 'atest', 'shop.example.info', 'invalid.org']
  for (const domain of others) expect(await factOf(domain), domain).toBe('no_mx')
  expect(asked).toEqual(others)
})
