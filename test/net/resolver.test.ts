import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createResolver, parseServers, type Resolver } from '../../src/net/resolver.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'

let dns: DnsServer
let resolver: Resolver

beforeAll(async () => {
  dns = await openDnsServer()
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
  await dns.close()
})

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'resolved',
    (error) => error.code,
  )

describe('the addresses of a name', () => {
  test('are those of both families', async () => {
    const found = await resolver.addresses('both.test', 2000)
    expect(found.toSorted((a, b) => a.address.localeCompare(b.address))).toEqual([
      { address: '2001:db8::1', family: 6 },
      { address: '203.0.113.1', family: 4 },
      { address: '203.0.113.2', family: 4 },
    ])
  })

  test('may be of one family only', async () => {
    expect(await resolver.addresses('four.test', 2000)).toEqual([{ address: '203.0.113.4', family: 4 }])
    expect(await resolver.addresses('six.test', 2000)).toEqual([{ address: '2001:db8::6', family: 6 }])
  })

  test('are asked for anew each time', async () => {
    dns.set('change.test', (before) => ({ A: [`203.0.113.${before}`] }))
    expect(await resolver.addresses('change.test', 2000)).toEqual([{ address: '203.0.113.0', family: 4 }])
    expect(await resolver.addresses('change.test', 2000)).toEqual([{ address: '203.0.113.1', family: 4 }])
  })

  test.each([
    ['absent.test', 'ENOTFOUND'],
    ['empty.test', 'ENODATA'],
    ['broken.test', 'ESERVFAIL'],
  ])('that has none: %s fails with %s', async (name, code) => {
    expect(await codeOf(resolver.addresses(name, 2000))).toBe(code)
  })

  test('that never come fail at the limit', async () => {
    const started = Date.now()
    expect(['ETIMEOUT', 'ECANCELLED']).toContain(await codeOf(resolver.addresses('silent.test', 300)))
    expect(Date.now() - started).toBeLessThan(1000)
  })

  test('come from the hosts file when no servers are named', async () => {
    const found = await createResolver([]).addresses('localhost', 2000)
    expect(['127.0.0.1', '::1']).toContain(found[0]?.address)
  })

  test('are never asked for once the resolver is closed', async () => {
    const other = createResolver([dns.address])
    other.close()
    expect(await codeOf(other.addresses('closed.test', 2000))).toBe('ECANCELLED')
    expect(dns.queries).not.toContain('A closed.test')
  })

  test('of mail are a time-out once the resolver is closed', async () => {
    const other = createResolver([dns.address])
    other.close()
    expect(await other.mail('closed.test', 2000)).toBe('timeout')
    expect(dns.queries).not.toContain('MX closed.test')
  })

  test('are no longer waited for once the resolver is closed', async () => {
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

  const find = (name: string) => createResolver([], { hostsFile }).addresses(name, 2000)

  test('names several hosts a line, in any case and both families, with comments and lines that are none', async () => {
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

  test('is read again when it changes, and may come late', async () => {
    await rm(hostsFile, { force: true })
    const system = createResolver([], { hostsFile })
    expect(await codeOf(system.addresses('late.invalid', 100))).not.toBe('resolved')
    await writeFile(hostsFile, '203.0.113.5 late.invalid\n')
    expect(await system.addresses('late.invalid', 100)).toEqual([{ address: '203.0.113.5', family: 4 }])
    await writeFile(hostsFile, '203.0.113.60 late.invalid\n')
    expect(await system.addresses('late.invalid', 100)).toEqual([{ address: '203.0.113.60', family: 4 }])
    system.close()
  })

  test('is not asked where name servers are set', async () => {
    await writeFile(hostsFile, '203.0.113.7 four.test\n')
    const named = createResolver([dns.address], { hostsFile })
    expect(await named.addresses('four.test', 2000)).toEqual([{ address: '203.0.113.4', family: 4 }])
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
  ])('%s is %s', async (domain, fact) => {
    expect(await resolver.mail(domain, 2000)).toBe(fact)
  })

  test('whose server is silent is a time-out at the limit', async () => {
    const started = Date.now()
    expect(await resolver.mail('silent.test', 300)).toBe('timeout')
    expect(Date.now() - started).toBeLessThan(1000)
  })

  test('whose server can not be reached is an error or a time-out, never a verdict on the domain', async () => {
    const gone = await openDnsServer()
    await gone.close()
    expect(['error', 'timeout']).toContain(await createResolver([gone.address]).mail('mail.test', 1000))
  })

  test('500 domains at once stay within the limit of one', async () => {
    const domains = Array.from({ length: 500 }, (_, i) => `silent${i}.test`)
    for (const domain of domains) dns.set(domain, { mode: 'silent' })
    const started = Date.now()
    const facts = await Promise.all(domains.map((domain) => resolver.mail(domain, 500)))
    expect(new Set(facts)).toEqual(new Set(['timeout']))
    expect(Date.now() - started).toBeLessThan(3000)
  })
})
