import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { updateAccount } from '../../src/accounts/accounts.ts'
import { setRelay, showRelay, testRelay, unsetRelay } from '../../src/senders/relays.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { certificate } from '../support/certificate.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
import { settlesWithin } from '../support/eventually.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let platform: Sink
let dns: DnsServer
let account: TestAccount
const sinks: Sink[] = []

beforeAll(async () => {
  ;[platform, dns] = [await openSink(), await openDnsServer()]
  dns.set('tls.test', { A: ['127.0.0.1'] })
  dns.set('other.test', { A: ['127.0.0.1'] })
  t = await startApp({ env: { SVC_SMTP_URL: platform.url, SVC_DNS_SERVERS: dns.address } })
})
beforeEach(async () => {
  account = await sendingAccount(t)
  platform.mails.length = 0
})
afterEach(async () => {
  for (const sink of sinks.splice(0)) await sink.close()
})
afterAll(async () => {
  await t.close()
  await platform.close()
  await dns.close()
})

const open = async (options: Parameters<typeof openSink>[0] = {}) => {
  const sink = await openSink(options)
  sinks.push(sink)
  return sink
}
const set = (url: string, more: { password?: string; bounceAddress?: string } = {}) =>
  t.app.work(account.id, 'cli:test', (work) =>
    setRelay(t.app, work, { url, password: more.password ?? null, bounceAddress: more.bounceAddress ?? null }),
  )
const show = () => t.app.work(account.id, 'cli:test', (work) => showRelay(t.app, work))
const send = async () => (await t.request('POST', '/send', { key: account.key, body: freeform() })).body
const verify = (to: string | null = null) => testRelay(t.app, account.id, 'cli:test', to)
const check = async (to: string | null = null) => (await verify(to)).fault

const withUser = (url: string) => url.replace('//', '//me%40x@')

test('an account’s own relay is used instead of the platform’s, from the next email on, until it is unset', async () => {
  const own = await open({ user: { name: 'me@x', password: 'pass word' } })
  expect((await show()).source).toBe('platform')
  await set(withUser(own.url), { password: 'pass word' })
  expect(await show()).toEqual({ url: withUser(own.url), source: 'account', password: true, bounceAddress: null })
  expect(await send()).toMatchObject({ status: 'sent' })
  expect([own.mails.length, own.mails[0]!.user, platform.mails.length]).toEqual([1, 'me@x', 0])
  expect(await t.app.work(account.id, 'cli:test', unsetRelay)).toBe(true)
  await send()
  expect(platform.mails).toHaveLength(1)
})

test('the password is stored sealed, and a new one is used for the next email', async () => {
  const own = await open({ user: { name: 'me@x', password: 'new' } })
  await set(withUser(own.url), { password: 'old' })
  const [row] = await t.app.sql<{ sealed_password: string }>(
    'select sealed_password from relays where account_id = $1',
    [account.id],
  )
  expect(row!.sealed_password).toMatch(/^v1\./)
  expect(await send()).toMatchObject({ status: 'failed', error: expect.stringContaining('535') })
  await set(withUser(own.url), { password: 'new' })
  expect(await send()).toMatchObject({ status: 'sent' })
})

test.each([
  'smtp://me:secret@relay.example:587',
  'http://relay.example',
  'relay.example',
  'smtp://',
  'smtp://relay.example/path',
  'smtp://relay.example?tls=off',
  'smtp://relay.example?tls=optional&x=1',
  'smtp://50%off@relay.example',
])('%s is refused', async (url) => {
  await expect(set(url)).rejects.toMatchObject({ kind: 'invalid' })
})

const unreached = (fault: string) => `The relay could not be reached: ${fault}`

describe('TLS', () => {
  test.each(['starttls', 'smtps'] as const)(
    '%s: an untrusted certificate ends the connection before anything is sent',
    async (tls) => {
      const own = await open({ tls, user: { name: 'me', password: 'x' } })
      await set(own.url.replace('//', '//me@'), { password: 'x' })
      const error =
        'TLS certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT): no known authority signed it; SVC_CA_FILE names a private one'
      expect(await send()).toMatchObject({ status: 'failed', error: unreached(error) })
      expect(await check()).toBe(error)
      expect(own.begun).toBe(0)
    },
  )

  test.each(['starttls', 'smtps'] as const)(
    '%s: a trusted certificate is accepted for its own name only',
    async (tls) => {
      const trusted = getCACertificates('default')
      setDefaultCACertificates([...trusted, certificate])
      const own = await open({ tls })
      await set(own.url.replace('127.0.0.1', 'tls.test'))
      expect(await send()).toMatchObject({ status: 'sent' })
      expect(own.mails[0]!.isSecure).toBe(true)
      await set(own.url.replace('127.0.0.1', 'other.test'))
      expect(await send()).toMatchObject({
        status: 'failed',
        error: unreached('TLS certificate is not valid (ERR_TLS_CERT_ALTNAME_INVALID): it is for another host name'),
      })
      setDefaultCACertificates(trusted)
    },
  )

  test('a relay that expects TLS from the first byte is recognised within seconds, and the error names the URL to use', async () => {
    const own = await open({ tls: 'smtps' })
    await set(own.url.replace('smtps:', 'smtp:'))
    const error = 'The relay begins with TLS: use smtps:// for this port'
    const checked = check()
    expect(await settlesWithin(checked, 4000)).toBe(true)
    expect(await checked).toBe(error)
    expect(await send()).toMatchObject({ status: 'failed', error: unreached(error) })
  })

  test('a relay with a late greeting is probed for TLS once, and gets its email', async () => {
    const own = await open()
    let connections = 0
    const slow = createServer((socket) => {
      connections++
      socket.on('error', () => {})
      setTimeout(() => {
        const on = connect(Number(new URL(own.url).port), '127.0.0.1').on('error', () => {})
        socket.pipe(on).pipe(socket)
      }, 2600)
    }).listen(0)
    await once(slow, 'listening')
    await set(`smtp://127.0.0.1:${(slow.address() as AddressInfo).port}`)
    expect(await check()).toBe(null)
    expect(await send()).toMatchObject({ status: 'sent' })
    expect(connections).toBe(3)
    slow.close()
  })

  test('a relay that takes a connection and says nothing leaves the email pending', async () => {
    const own = await open()
    own.always({ hang: 'connect' })
    await set(own.url)
    expect(await send()).toEqual({ id: expect.any(String), status: 'pending' })
  })

  test('a relay without TLS at an smtps URL is explained in a sentence', async () => {
    const own = await open()
    await set(own.url.replace('smtp:', 'smtps:'))
    const error =
      'TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER): if the relay does not begin with TLS, use smtp:// for it'
    expect(await check()).toBe(error)
    expect(await send()).toMatchObject({ status: 'failed', error: unreached(error) })
  })
})

describe('a password', () => {
  const secured = { user: { name: 'me', password: 'open sesame' } }
  /** A host name that does not identify the local machine, although it resolves to it. */
  const named = (url: string) => url.replace('//127.0.0.1', '//me@tls.test')

  test('is never sent to a remote relay without TLS, unless its URL allows it', async () => {
    const own = await open(secured)
    await set(named(own.url), { password: 'open sesame' })
    const refused = expect.stringContaining('?tls=optional')
    expect(await send()).toMatchObject({ status: 'failed', error: refused })
    expect(await verify()).toEqual({ fault: refused, tls: null })
    expect([own.signIns, own.begun]).toEqual([0, 0])
    const url = `${named(own.url)}?tls=optional`
    expect((await set(url, { password: 'open sesame' })).url).toBe(url)
    expect((await show()).url).toBe(url)
    expect(await verify()).toEqual({ fault: null, tls: null })
    expect(await send()).toMatchObject({ status: 'sent' })
  })

  test('of SVC_SMTP_URL is never sent to a remote relay without TLS, unless that URL allows it', async () => {
    const own = await open(secured)
    const url = own.url.replace('//127.0.0.1', '//me:open%20sesame@tls.test')
    for (const [smtpUrl, status, signIns] of [
      [url, 'failed', 0],
      [`${url}?tls=optional`, 'sent', 1],
    ] as const) {
      const other = await startApp({ env: { SVC_SMTP_URL: smtpUrl, SVC_DNS_SERVERS: dns.address } })
      const { key } = await sendingAccount(other)
      expect((await other.request('POST', '/send', { key, body: freeform() })).body).toMatchObject({ status })
      expect(own.signIns).toBe(signIns)
      await other.close()
    }
  })

  test('is sent after STARTTLS, and the test of the relay shows TLS version and cipher', async () => {
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, certificate])
    const own = await open({ ...secured, tls: 'starttls' })
    await set(named(own.url), { password: 'open sesame' })
    expect(await verify()).toEqual({ fault: null, tls: expect.stringMatching(/^TLSv1\.3 TLS_\w+$/) })
    expect(await send()).toMatchObject({ status: 'sent' })
    expect(own.mails[0]!.isSecure).toBe(true)
    setDefaultCACertificates(trusted)
  })

  test('is sent unencrypted to the local machine only; without a password no TLS is required', async () => {
    const own = await open(secured)
    await set(own.url.replace('//', '//me@'), { password: 'open sesame' })
    expect(await send()).toMatchObject({ status: 'sent' })
    const without = await open()
    await set(without.url.replace('127.0.0.1', 'tls.test'))
    expect(await send()).toMatchObject({ status: 'sent' })
  })

  test.each(['127.evil.test', 'localhost.evil.test'])('%s is not the local machine', async (host) => {
    dns.set(host, { A: ['127.0.0.1'] })
    const own = await open(secured)
    await set(own.url.replace('//127.0.0.1', `//me@${host}`), { password: 'open sesame' })
    expect(await send()).toMatchObject({ status: 'failed' })
    expect(own.signIns).toBe(0)
  })
})

describe('VERP', () => {
  test('with a bounce address the envelope sender has the message id and its stamp; From is unchanged', async () => {
    const own = await open()
    await set(own.url, { bounceAddress: 'Bounces@shop.example' })
    const { id } = await send()
    const [mail] = own.mails
    expect(mail!.from).toBe(`bounces+${id}.${t.app.tokens.stamp('bounce', id)}@shop.example`)
    expect(mail!.from.split('@')[0]!.length).toBeLessThanOrEqual(64)
    expect(mail!.header('from')).toBe('The Shop <hello@shop.example>')
  })

  test('a bounce address that is too long or not valid is refused', async () => {
    await expect(
      set('smtp://relay.example', { bounceAddress: `${'b'.repeat(17)}@shop.example` }),
    ).rejects.toMatchObject({ kind: 'invalid' })
    await expect(set('smtp://relay.example', { bounceAddress: 'bounces' })).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('the test of a relay', () => {
  test('signs in, and with --to sends a small email, which is not stored and counts no quota', async () => {
    const own = await open({ user: { name: 'me', password: 'x' } })
    await set(own.url.replace('//', '//me@'), { password: 'x' })
    await t.app.operate('cli:test', (operation) =>
      updateAccount(operation, account.id, { brandName: 'Harbour & Sons' }),
    )
    expect(await check()).toBe(null)
    expect(own.mails).toHaveLength(0)
    expect(await check('ada@people.example')).toBe(null)
    expect(own.mails[0]!.to).toEqual(['ada@people.example'])
    expect(own.mails[0]!.raw).toContain('Harbour &amp; Sons')
    expect(await t.app.sql('select 1 from messages where account_id = $1', [account.id])).toEqual([])
    expect(await t.app.sql('select 1 from quota_uses where account_id = $1', [account.id])).toEqual([])
  })

  test('returns the relay’s error', async () => {
    const own = await open({ user: { name: 'me', password: 'x' } })
    await set(own.url.replace('//', '//me@'), { password: 'wrong' })
    expect(await check()).toContain('535')
    await set('smtp://127.0.0.1:1')
    expect(await check()).toBe('connection refused')
    await set('smtp://nowhere.invalid')
    expect(await check()).toBe('host name does not resolve')
  })
})

test('connections of an idle pool are closed', async () => {
  const own = await open()
  await set(own.url)
  await send()
  expect(own.open).toBe(1)
  await expect.poll(() => own.open).toBe(0)
})
