import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Problem } from '../../src/lib/problem.ts'
import { parseCidrs } from '../../src/net/addresses.ts'
import { createResolver, type Resolver } from '../../src/net/resolver.ts'
import { checkWebhookUrl } from '../../src/net/webhook-url.ts'
import { useDnsServer } from '../support/dns.ts'
import { settlesWithin } from '../support/eventually.ts'

let resolver: Resolver

const dns = useDnsServer()
beforeAll(async () => {
  resolver = createResolver([dns.address])
  dns.set('public.test', { A: ['8.8.8.8'], AAAA: ['2606:4700:4700::1111'] })
  dns.set('private.test', { A: ['10.0.0.1'] })
  dns.set('mixed.test', { A: ['8.8.8.8', '127.0.0.1'] })
  dns.set('private6.test', { A: ['8.8.8.8'], AAAA: ['fd00::1'] })
  dns.set('documentation.test', { A: ['203.0.113.9'] })
  dns.set('silent.test', { mode: 'silent' })
  dns.set('broken.test', { mode: 'servfail' })
  dns.set('host.docker.internal', { A: ['192.168.65.2'] })
  dns.set('rogue.internal', { A: ['8.8.8.8'] })
})

afterAll(async () => {
  resolver.close()
})

const check = (text: string, allow = '') => checkWebhookUrl(text, { resolver, allow: parseCidrs(allow) })

const refusal = async (text: string, allow = ''): Promise<string> => {
  const error = await check(text, allow).then(
    (url) => `accepted ${url.href}`,
    (error) => error,
  )
  expect(error).toBeInstanceOf(Problem)
  expect(error.kind).toBe('invalid')
  return error.message
}

const privateHosts = [
  ...[
    '127.0.0.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.1',
    '１２７.0.0.1',
  ],
  ...['0', '0.0.0.0', '10.0.0.1', '10.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '2852039166', '100.64.0.1'],
  ...['192.0.2.1', '198.18.0.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255', '%31%32%37.0.0.1'],
  ...['[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:a00:1]'],
  ...['[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::a00:1]', '[2002:7f00:1::]', '[2002:a9fe:a9fe::]'],
  ...[
    '[2001:0:808:808::80ff:fffe]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
  ],
]

const privateNames = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'LocalHost..', 'a.localhost', 'A.LOCALHOST.', 'ⓛocalhost'],
  ...['x.local', 'X.Local.', 'local', 'x.internal', 'metadata.google.internal', 'X.INTERNAL.', 'rogue.internal'],
]

describe('a webhook URL is refused', () => {
  test.each(privateHosts)('with the literal %s', async (host) => {
    expect(await refusal(`http://${host}/hook`)).toMatch(/^url must be a public http or https address: \S+ is not$/)
    expect(await refusal(`https://${host}:8443/`)).toMatch(/^url must be a public/)
  })

  test.each(privateNames)('with the private name %s', async (host) => {
    expect(await refusal(`https://${host}/hook`)).toMatch(/^url must be a public .* is a private name$/)
  })

  test.each(['private.test', 'mixed.test', 'private6.test', 'documentation.test', 'PRIVATE.test.'])(
    'with %s, a name that resolves to an address that is not public',
    async (host) => {
      expect(await refusal(`https://${host}/`)).toMatch(/resolves to an address that is not$/)
    },
  )

  test.each([
    ...['', ' ', 'hook', '/hook', 'example.com/hook', '//example.com', 'ftp://public.test/', 'javascript:alert(1)'],
    ...['file:///etc/passwd', 'ws://public.test', 'http://', 'https://', 'http://[::1', 'http://[fe80::1%25eth0]/'],
    ...[
      'http://exa mple.com',
      'http://256.1.1.1/',
      'http://1.2.3.4.5/',
      'http://0x100000000/',
      'http://public.test:99999',
    ],
    // WHATWG's parser takes these for `https://public.test/`; no other receiver does.
    ...[
      'https:public.test',
      'https:/public.test',
      'https:///public.test',
      'https:\\\\public.test',
      'ht\ttps://public.test',
    ],
  ])('when it is not an http or https address: %j', async (text) => {
    expect(await refusal(text)).toBe('url must be an absolute http or https address')
  })

  test.each(['https://user:pass@public.test/', 'https://user@public.test/', 'https://:pass@public.test/'])(
    'with credentials: %s',
    async (text) => expect(await refusal(text)).toBe('url must not contain a user name or password'),
  )

  test.each(['https://public.test/#fragment', 'https://public.test/#', 'https://public.test/a?b#c'])(
    'with a fragment: %s',
    async (text) => expect(await refusal(text)).toBe('url must not contain a fragment'),
  )

  test('with more than 2,048 characters, as written or as normalised', async () => {
    const start = 'https://public.test/'
    expect((await check(start + 'a'.repeat(2048 - start.length))).href).toHaveLength(2048)
    expect(await refusal(start + 'a'.repeat(2049 - start.length))).toBe('url must have at most 2048 characters')
    expect(await refusal(start + 'ü'.repeat(1000))).toBe('url must have at most 2048 characters')
  })
})

describe('a webhook URL is accepted', () => {
  test.each([
    ['https://public.test/hook?a=b', 'https://public.test/hook?a=b'],
    ['HTTP://PUBLIC.test:80', 'http://public.test/'],
    ['http://8.8.8.8:8080/hook', 'http://8.8.8.8:8080/hook'],
    ['https://134744072/', 'https://8.8.8.8/'],
    ['https://[2606:4700:4700::1111]/', 'https://[2606:4700:4700::1111]/'],
    ['https://[::ffff:8.8.8.8]/', 'https://[::ffff:808:808]/'],
    ['https://notlocalhost.test/', 'https://notlocalhost.test/'],
    ['https://internal.test/', 'https://internal.test/'],
  ])('when it is public: %s', async (text, href) => {
    expect((await check(text)).href).toBe(href)
  })

  test.each(['https://absent.test/', 'https://broken.test/'])(
    'when its name does not resolve yet: %s',
    async (text) => {
      expect((await check(text)).href).toBe(text)
    },
  )

  test('when its name servers are silent, after 2 s', async () => {
    const started = performance.now()
    expect(await settlesWithin(check('https://silent.test/'), 3000)).toBe(true)
    expect(performance.now() - started).toBeGreaterThan(1500)
  })
})

describe('a list of private addresses that the operator permits', () => {
  test.each([
    ['http://127.0.0.1:3000/', '127.0.0.0/8'],
    ['http://[::ffff:127.0.0.1]:3000/', '127.0.0.0/8'],
    ['http://localhost:3000/', '127.0.0.0/8'],
    ['http://localhost.:3000/', '::1'],
    ['http://a.localhost:3000/', '127.0.0.0/8'],
    ['http://private.test/', '10.0.0.0/8'],
    ['http://host.docker.internal:3000/', '192.168.0.0/16'],
  ])('accepts %s with %s', async (text, allow) => {
    expect((await check(text, allow)).hostname).not.toBe('')
  })

  test.each([
    ['http://localhost:3000/', '10.0.0.0/8'],
    ['http://127.0.0.1:3000/', '10.0.0.0/8,::1'],
    ['http://host.docker.internal:3000/', '127.0.0.0/8'],
    ['http://absent.internal:3000/', '127.0.0.0/8'],
    ['http://rogue.internal/', '127.0.0.0/8'],
    ['http://mixed.test/', '10.0.0.0/8'],
  ])('still refuses %s with %s', async (text, allow) => {
    expect(await refusal(text, allow)).toMatch(/^url must be a public/)
  })
})
