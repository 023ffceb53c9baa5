import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setRelay, showRelay, testRelay, unsetRelay } from '../../src/messages/messages.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { certificate } from '../support/certificate.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
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
const check = (to: string | null = null) => testRelay(t.app, account.id, 'cli:test', to)

const withUser = (url: string) => url.replace('//', '//me%40x@')

test('an account’s own relay is used instead of the platform’s, from the next mail on, until it is unset', async () => {
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

test('the password is kept sealed, and a new one holds for the next mail', async () => {
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
])('%s is refused', async (url) => {
  await expect(set(url)).rejects.toMatchObject({ kind: 'invalid' })
})

describe('TLS', () => {
  test.each(['starttls', 'smtps'] as const)(
    '%s: a certificate that nobody vouches for ends it before a word is said',
    async (tls) => {
      const own = await open({ tls, user: { name: 'me', password: 'x' } })
      await set(own.url.replace('//', '//me@'), { password: 'x' })
      expect(await send()).toMatchObject({ status: 'failed', error: expect.stringMatching(/certificate/i) })
      expect(await check()).toMatch(/certificate/i)
      expect(own.begun).toBe(0)
    },
  )

  test.each(['starttls', 'smtps'] as const)(
    '%s: with the certificate of its name it goes encrypted, with another name’s not',
    async (tls) => {
      const trusted = getCACertificates('default')
      setDefaultCACertificates([...trusted, certificate])
      const own = await open({ tls })
      await set(own.url.replace('127.0.0.1', 'tls.test'))
      expect(await send()).toMatchObject({ status: 'sent' })
      expect(own.mails[0]!.isSecure).toBe(true)
      await set(own.url.replace('127.0.0.1', 'other.test'))
      expect(await send()).toMatchObject({ status: 'failed', error: expect.stringContaining('altnames') })
      setDefaultCACertificates(trusted)
    },
  )
})

describe('VERP', () => {
  test('with a bounce address the envelope sender names the message, and proves it; From is as ever', async () => {
    const own = await open()
    await set(own.url, { bounceAddress: 'Bounces@shop.example' })
    const { id } = await send()
    const [mail] = own.mails
    expect(mail!.from).toBe(`bounces+${id}.${t.app.tokens.stamp('bounce', id)}@shop.example`)
    expect(mail!.from.split('@')[0]!.length).toBeLessThanOrEqual(64)
    expect(mail!.header('from')).toBe('The Shop <hello@shop.example>')
  })

  test('one that would make too long a local part, or is no address, is refused', async () => {
    await expect(
      set('smtp://relay.example', { bounceAddress: `${'b'.repeat(17)}@shop.example` }),
    ).rejects.toMatchObject({ kind: 'invalid' })
    await expect(set('smtp://relay.example', { bounceAddress: 'bounces' })).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('the test of a relay', () => {
  test('signs in, and hands a small mail over with --to, which is in no list and no quota', async () => {
    const own = await open({ user: { name: 'me', password: 'x' } })
    await set(own.url.replace('//', '//me@'), { password: 'x' })
    expect(await check()).toBe(null)
    expect(own.mails).toHaveLength(0)
    expect(await check('ada@people.example')).toBe(null)
    expect(own.mails[0]!.to).toEqual(['ada@people.example'])
    expect(await t.app.sql('select 1 from messages where account_id = $1', [account.id])).toEqual([])
    expect(await t.app.sql('select 1 from quota_uses where account_id = $1', [account.id])).toEqual([])
  })

  test('tells in the relay’s words what is wrong', async () => {
    const own = await open({ user: { name: 'me', password: 'x' } })
    await set(own.url.replace('//', '//me@'), { password: 'wrong' })
    expect(await check()).toContain('535')
    await set('smtp://127.0.0.1:1')
    expect(await check()).toContain('ECONNREFUSED')
    await set('smtp://nowhere.invalid')
    expect(await check()).toMatch(/nowhere\.invalid/)
  })
})

test('connections of an idle pool are closed', async () => {
  const own = await open()
  await set(own.url)
  await send()
  expect(own.open).toBe(1)
  for (let i = 0; own.open > 0 && i < 400; i++) await new Promise((resolve) => setTimeout(resolve, 100))
  expect(own.open).toBe(0)
}, 45_000)
