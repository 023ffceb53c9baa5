import { createHash, createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addDomain, deleteDomain, listDomains, showDomain, verifyDomain } from '../../src/senders/domains.ts'
import { setRelay } from '../../src/senders/relays.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
import { freeform, queueMany, sendingAccount, startMail } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let sink: Sink
let dns: DnsServer
let account: TestAccount

beforeAll(async () => {
  ;[sink, dns] = [await openSink(), await openDnsServer()]
  t = await startApp({ env: { SVC_SMTP_URL: sink.url, SVC_DNS_SERVERS: dns.address } })
})
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.mails.length = 0
})
afterAll(async () => {
  await t.close()
  await sink.close()
  await dns.close()
})

let made = 0
const add = (domain = `shop${++made}.example`) => addDomain(t.app, account.id, 'cli:test', domain)
const look = (domain: string) => verifyDomain(t.app, account.id, 'cli:test', domain)
const piecesOf = (text: string): string[] => text.match(/.{1,200}/g)!

/** Publishes the requested records, long ones in several strings. */
const publish = (records: readonly { name: string; value: string }[]) => {
  for (const { name, value } of records) dns.set(name, { TXT: [['something else'], piecesOf(value)] })
}

test('a new domain has four records, none of them found', async () => {
  const { domain, status, records } = await add(' Shop.Example. ')
  expect([domain, status]).toEqual(['shop.example', 'pending'])
  expect(records).toEqual([
    {
      purpose: 'ownership',
      type: 'TXT',
      name: '_svc-challenge.shop.example',
      value: expect.stringMatching(/^svc-verification=[0-9a-f]{32}$/),
      found: false,
    },
    {
      purpose: 'dkim',
      type: 'TXT',
      name: 'svc1._domainkey.shop.example',
      value: expect.stringMatching(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]{380,}=*$/),
      found: false,
    },
    {
      purpose: 'spf',
      type: 'TXT',
      name: 'shop.example',
      value: expect.stringMatching(/^v=spf1 .*ip4:127\.0\.0\.1 ~all$/),
      found: false,
    },
    { purpose: 'dmarc', type: 'TXT', name: '_dmarc.shop.example', value: 'v=DMARC1; p=none', found: false },
  ])
  await expect(add('shop.example')).rejects.toMatchObject({ kind: 'conflict' })
  await expect(add('nonsense')).rejects.toMatchObject({ kind: 'invalid' })
})

test.each([
  ['smtp://127.0.0.1:25', 'v=spf1 mx ip4:127.0.0.1 ~all'],
  ['smtp://[::1]:25', 'v=spf1 mx ip6:::1 ~all'],
  ['smtp://localhost:25', 'v=spf1 mx a:localhost ~all'],
])('the SPF record for the relay %s is %s', async (url, value) => {
  await t.app.work(account.id, 'cli:test', (work) =>
    setRelay(t.app, work, { url, password: null, bounceAddress: null }),
  )
  const { records } = await add()
  expect(records.find(({ purpose }) => purpose === 'spf')!.value).toBe(value)
})

describe('verification', () => {
  test('needs the ownership and DKIM records; SPF and DMARC are optional', async () => {
    const { domain, records } = await add()
    const [ownership, dkim] = records
    publish([dkim!])
    expect(await look(domain)).toMatchObject({
      status: 'pending',
      records: [{ found: false }, { found: true }, {}, {}],
    })
    publish([ownership!])
    expect(await look(domain)).toMatchObject({
      status: 'verified',
      records: [{ found: true }, { found: true }, { found: false }, { found: false }],
    })
    dns.set(domain, { TXT: [['v=spf1 include:elsewhere.example -all']] })
    dns.set(`_dmarc.${domain}`, { TXT: [['v=DMARC1; p=reject']] })
    expect((await look(domain)).records.every(({ found }) => found)).toBe(true)
  })

  test('a record with another token or key does not count', async () => {
    const { domain, records } = await add()
    const other = await add()
    publish([
      { name: records[0]!.name, value: other.records[0]!.value },
      { name: records[1]!.name, value: other.records[1]!.value },
    ])
    expect(await look(domain)).toMatchObject({
      status: 'pending',
      records: [{ found: false }, { found: false }, {}, {}],
    })
  })

  test('a verified domain becomes pending when its DKIM record is gone, not when DNS does not answer', async () => {
    const { domain, records } = await add()
    publish(records)
    expect((await look(domain)).status).toBe('verified')
    dns.set(records[0]!.name, { mode: 'nxdomain' })
    dns.set(records[1]!.name, { mode: 'servfail' })
    expect(await look(domain)).toMatchObject({
      status: 'verified',
      records: [{ found: false }, { found: true }, {}, {}],
    })
    dns.set(records[1]!.name, { mode: 'nxdomain' })
    expect((await look(domain)).status).toBe('pending')
  })

  test('is separate for each account', async () => {
    const { domain, records } = await add()
    publish(records)
    const stranger = await t.account()
    await expect(verifyDomain(t.app, stranger.id, 'cli:test', domain)).rejects.toMatchObject({ kind: 'not_found' })
    const [theirs] = await t.app.work(stranger.id, 'cli:test', (work) => listDomains(t.app, work))
    expect(theirs).toBeUndefined()
  })
})

/** The tags of a DKIM-Signature header (RFC 6376 section 3.5). */
const tagsOf = (header: string) =>
  Object.fromEntries(
    header
      .split(';')
      .map((tag) => [tag.slice(0, tag.indexOf('=')).trim(), tag.slice(tag.indexOf('=') + 1).replace(/\s/g, '')]),
  )

/** Checks a signature as a receiver does: relaxed/relaxed, RSA-SHA256, by the key of the DNS record. */
const checkDkim = (raw: string, record: string): { domain: string; signed: string[] } => {
  const at = raw.indexOf('\r\n\r\n')
  const fields = raw.slice(0, at).split(/\r\n(?![ \t])/)
  const nameOf = (field: string) => field.slice(0, field.indexOf(':')).trim().toLowerCase()
  const relaxed = (field: string) =>
    `${nameOf(field)}:${field
      .slice(field.indexOf(':') + 1)
      .replace(/\r\n/g, '')
      .replace(/[ \t]+/g, ' ')
      .trim()}`
  const signature = fields.find((field) => nameOf(field) === 'dkim-signature')!
  const tags = tagsOf(signature.slice(signature.indexOf(':') + 1))
  expect(tags).toMatchObject({ v: '1', a: 'rsa-sha256', c: 'relaxed/relaxed', s: 'svc1' })
  const body = raw
    .slice(at + 4)
    .split('\r\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''))
    .join('\r\n')
    .replace(/(\r\n)*$/, '\r\n')
  expect(createHash('sha256').update(body).digest('base64')).toBe(tags.bh)
  const signed = tags.h!.toLowerCase().split(':')
  const head = signed.map((name) => `${relaxed(fields.find((field) => nameOf(field) === name)!)}\r\n`).join('')
  const bare = relaxed(signature).replace(/([;:\s]b=)[^;]*/, '$1')
  const key = createPublicKey({ key: Buffer.from(/p=(.*)/.exec(record)![1]!, 'base64'), format: 'der', type: 'spki' })
  expect(verify('sha256', Buffer.from(head + bare), key, Buffer.from(tags.b!, 'base64'))).toBe(true)
  return { domain: tags.d!, signed }
}

describe('an email from a verified domain', () => {
  const send = async (from: string, more: object = {}) => {
    const { body } = await ok(
      t.request('POST', '/send', {
        key: account.key,
        body: freeform({ from: { email: from }, ...more }),
      }),
    )
    expect(body).toMatchObject({ status: 'sent' })
    return sink.mails.at(-1)!
  }

  test('can have any address of the domain, and is signed with its key, including the unsubscribe headers', async () => {
    const { domain, records } = await add()
    publish(records)
    await look(domain)
    const mail = await send(`anyone@${domain}`, { type: 'marketing', html: `<p>${'Wörter und  mehr '.repeat(50)}</p>` })
    const { domain: signer, signed } = checkDkim(mail.raw, records[1]!.value)
    expect(signer).toBe(domain)
    expect(signed).toEqual(
      expect.arrayContaining(['from', 'to', 'subject', 'message-id', 'list-unsubscribe', 'list-unsubscribe-post']),
    )
    const attachments = [0, 57, 300_000].map((size) => ({
      filename: 'a  b.bin',
      content: Buffer.alloc(size, 'a line\r\n.\r\n').toString('base64'),
    }))
    const { raw } = await send(`anyone@${domain}`, { text: '.\r\n.dot\r\n', attachments })
    expect(checkDkim(raw, records[1]!.value).domain).toBe(domain)
  })

  test('a quoted local part with an @ is signed with the key of its domain', async () => {
    const { domain, records } = await add()
    publish(records)
    await look(domain)
    // The sink does not accept such an envelope sender, so the relay has a bounce address.
    await t.app.work(account.id, 'cli:test', (work) =>
      setRelay(t.app, work, { url: sink.url, password: null, bounceAddress: `bounces@${domain}` }),
    )
    const mail = await send(`"ann@team"@${domain}`)
    expect(checkDkim(mail.raw, records[1]!.value).domain).toBe(domain)
    expect(mail.header('message-id')).toMatch(new RegExp(`^<msg_\\w+@${domain}>$`))
  })

  test('after a domain loses its verification it is refused, and queued messages are sent unsigned; subdomains are not included', async () => {
    const { domain, records } = await add()
    publish(records)
    await look(domain)
    const refused = await t.request('POST', '/send', {
      key: account.key,
      body: freeform({ from: { email: `a@mail.${domain}` } }),
    })
    expect(refused.status).toBe(400)
    dns.set(records[1]!.name, { mode: 'nxdomain' })
    await look(domain)
    expect(
      (await t.request('POST', '/send', { key: account.key, body: freeform({ from: { email: `a@${domain}` } }) }))
        .status,
    ).toBe(400)
    expect((await send('hello@shop.example')).header('dkim-signature')).toBeUndefined()
  })
})

describe('deletion', () => {
  const remove = (domain: string) => t.app.work(account.id, 'cli:test', (work) => deleteDomain(work, domain))
  const post = (from: string) =>
    t.request('POST', '/send', { key: account.key, body: freeform({ from: { email: from } }) })

  test('the API takes no email from the domain, and queued messages are sent unsigned', async () => {
    const { domain, records } = await add()
    publish(records)
    await look(domain)
    await queueMany(t.app, account.id, 1, { from: { email: `a@${domain}` } })
    await remove(domain)
    expect((await post(`a@${domain}`)).status).toBe(400)
    const mail = startMail(t.app)
    await expect.poll(() => sink.mails).toHaveLength(1)
    await mail.stop()
    expect(sink.mails[0]!.header('dkim-signature')).toBeUndefined()
    await expect(look(domain)).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('while emails from it are accepted: each is sent, signed or not, or refused with 400', async () => {
    const { domain, records } = await add()
    publish(records)
    await look(domain)
    const [, ...answers] = await Promise.all([
      remove(domain),
      ...Array.from({ length: 12 }, (_, n) => post(`p${n}@${domain}`)),
    ])
    const sent = answers.filter(({ status }) => status === 200)
    expect(sent.every(({ body }) => body.status === 'sent')).toBe(true)
    expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true)
    expect(sink.mails).toHaveLength(sent.length)
  })

  test('two at once, and a verification meanwhile: one deletes it, the domain does not come back', async () => {
    const { domain, records } = await add()
    publish(records)
    const [first, second] = await Promise.allSettled([remove(domain), remove(domain), look(domain)])
    expect([first.status, second.status].toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await t.app.work(account.id, 'cli:test', (work) => listDomains(t.app, work))).toEqual([])
  })
})

test('that is deleted and added again during its verification is not verified by the former records', async () => {
  const { domain, records } = await add()
  publish(records)
  const asked = Promise.withResolvers<void>()
  const dkim = records.find(({ purpose }) => purpose === 'dkim')!
  dns.set(dkim.name, () => {
    asked.resolve()
    return { TXT: [piecesOf(dkim.value)], delayMs: 1000 }
  })
  const verifying = look(domain).catch(({ kind }) => kind)
  await asked.promise
  await t.app.work(account.id, 'cli:test', (work) => deleteDomain(work, domain))
  const again = await add(domain)
  expect(await verifying).toBe('not_found')
  expect(await t.app.work(account.id, 'cli:test', (work) => showDomain(t.app, work, domain))).toEqual(again)
})

test('the private key is stored sealed', async () => {
  const { domain } = await add()
  const [row] = await t.app.sql<{ sealed_key: string }>('select sealed_key from domains where domain = $1', [domain])
  expect(row!.sealed_key).toMatch(/^v1\./)
  expect(row!.sealed_key).not.toContain('PRIVATE')
  await expect(
    t.app.work(account.id, 'cli:test', (work) => showDomain(t.app, work, 'other.example')),
  ).rejects.toMatchObject({ kind: 'not_found' })
})
