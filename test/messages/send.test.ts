import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { suppressAddresses } from '../../src/messages/messages.ts'
import { addSender } from '../../src/messages/senders.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { freePort } from '../support/daemon.ts'
import { freeform, messagesOf, sendingAccount } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let sink: Sink
let account: TestAccount

beforeAll(async () => {
  const port = await freePort()
  t = await startApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${port}`, SVC_PUBLIC_URL: 'https://svc.example' } })
})
beforeEach(async () => {
  sink = await openSink({ port: Number(new URL(t.env.SVC_SMTP_URL!).port) })
  account = await sendingAccount(t)
})
afterEach(() => sink.close())
afterAll(() => t.close())

const send = (body: unknown, headers: Record<string, string> = {}) =>
  t.request('POST', '/send', { key: account.key, body, headers })

describe('a freeform mail', () => {
  test('is sent by the time of the answer, as it was given', async () => {
    const { status, body } = await send(freeform({ to: ' Ada@People.example ', html: '<p>Grüße {{ name }}</p>' }))
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^msg_/), status: 'sent' }])
    const [mail] = await sink.arrived(1)
    expect(mail).toMatchObject({ from: 'hello@shop.example', to: ['ada@people.example'] })
    expect(mail!.header('from')).toBe('The Shop <hello@shop.example>')
    expect(mail!.header('subject')).toBe('Your order')
    expect(mail!.header('message-id')).toBe(`<${body.id}@shop.example>`)
    expect(mail!.header('list-unsubscribe')).toBeUndefined()
    expect(mail!.raw).toContain('{{ name }}')
    expect(mail!.raw).toContain('It is on its way.')
  })

  test.each(['subject', 'html', 'text', 'to'])('without %s is 400, and names it', async (name) => {
    const { status, body } = await send({ ...freeform(), [name]: undefined })
    expect([status, body.error]).toEqual([400, expect.stringContaining(name)])
    expect(await messagesOf(t.app, account.id)).toEqual([])
  })

  test.each([
    ['a recipient that is no address', { to: 'ada' }, 'to'],
    ['two recipients', { to: 'a@people.example, b@people.example' }, 'to'],
    ['a recipient with a line end', { to: 'a@people.example\r\nBcc: b@people.example' }, 'to'],
    ['an unknown type', { type: 'newsletter' }, 'type'],
    ['a replyTo that is no address', { replyTo: 'me' }, 'replyTo'],
    ['a from without email', { from: { name: 'X' } }, 'from.email'],
    ['NUL in the html', { html: 'a\0b' }, 'html'],
  ])('%s is 400', async (_, more, name) => {
    const { status, body } = await send(freeform(more))
    expect([status, body.error]).toEqual([400, expect.stringContaining(name)])
  })

  test('a subject is cut to 200 characters, none of them in half', async () => {
    await send(freeform({ subject: '😀'.repeat(201) }))
    const [mail] = await sink.arrived(1)
    const encoded = [...mail!.raw.slice(0, mail!.raw.indexOf('\r\n\r\n')).matchAll(/=\?UTF-8\?B\?([^?]+)\?=/gi)]
    expect(encoded.map(([, text]) => Buffer.from(text!, 'base64').toString()).join('')).toBe('😀'.repeat(200))
  })

  test('line ends in subject and name inject no header and no recipient', async () => {
    await t.app.work(account.id, 'cli:test', (work) => addSender(work, { email: 'evil@shop.example', name: 'x' }))
    await send(
      freeform({
        subject: 'Hi\r\nBcc: eve@people.example',
        from: { email: 'evil@shop.example', name: 'Eve\r\nBcc: eve@people.example' },
      }),
    )
    const [mail] = await sink.arrived(1)
    expect(mail!.to).toEqual(['ada@people.example'])
    expect(mail!.header('bcc')).toBeUndefined()
    expect(mail!.header('subject')).toBe('Hi Bcc: eve@people.example')
  })

  test('5 MB of html are sent, 8 MB and more are 413', async () => {
    expect((await send(freeform({ html: 'x'.repeat(5e6) }))).body).toMatchObject({ status: 'sent' })
    expect((await send(freeform({ html: 'x'.repeat(9e6) }))).status).toBe(413)
    expect((await sink.arrived(1))[0]!.raw.length).toBeGreaterThan(5e6)
  })
})

describe('from, senderId and replyTo', () => {
  const add = (email: string, more: { name?: string; replyTo?: string } = {}) =>
    t.app.work(account.id, 'cli:test', (work) => addSender(work, { email, name: 'Other', ...more }))

  test('from must be a sender of the account or lie on a verified domain of it', async () => {
    const strange = await send(freeform({ from: { email: 'me@elsewhere.example' } }))
    expect([strange.status, strange.body.error]).toEqual([400, expect.stringContaining('from.email')])
    await t.app.sql(
      `insert into domains (account_id, domain, status, token, public_key, sealed_key, found, created_at)
       values ($1, 'pending.example', 'pending', '', '', '', '{}', now())`,
      [account.id],
    )
    expect((await send(freeform({ from: { email: 'me@pending.example' } }))).status).toBe(400)
    await add('me@elsewhere.example')
    expect((await send(freeform({ from: { email: 'Me@Elsewhere.example', name: 'Me' } }))).body.status).toBe('sent')
    expect((await sink.arrived(1))[0]!.header('from')).toBe('Me <me@elsewhere.example>')
  })

  test('senderId picks address, name and reply-to; an unknown one or another account’s is 400', async () => {
    const { id } = await add('team@shop.example', { replyTo: 'answers@shop.example' })
    expect((await send(freeform({ senderId: id }))).body.status).toBe('sent')
    const [mail] = await sink.arrived(1)
    expect(mail!.header('from')).toBe('Other <team@shop.example>')
    expect(mail!.header('reply-to')).toBe('answers@shop.example')
    expect((await send(freeform({ senderId: 'snd_nobody' }))).status).toBe(400)
    account = await sendingAccount(t)
    expect((await send(freeform({ senderId: id }))).status).toBe(400)
  })

  test('with both, from wins; replyTo wins over the sender’s', async () => {
    const { id } = await add('team@shop.example', { replyTo: 'answers@shop.example' })
    await send(freeform({ senderId: id, from: { email: 'hello@shop.example' }, replyTo: 'me@shop.example' }))
    const [mail] = await sink.arrived(1)
    expect(mail!.header('from')).toBe('The Shop <hello@shop.example>')
    expect(mail!.header('reply-to')).toBe('me@shop.example')
  })

  test('without from, senderId and default sender it is 400', async () => {
    account = await t.account()
    const { status, body } = await send(freeform())
    expect([status, body.error]).toEqual([400, expect.stringContaining('from')])
  })
})

test('an account without any sending method is answered 400', async () => {
  const bare = await startApp()
  const other = await sendingAccount(bare)
  const { status, body } = await bare.request('POST', '/send', { key: other.key, body: freeform() })
  expect([status, body]).toEqual([400, { error: 'The account has no sending method' }])
  await bare.close()
})

describe('what the relay says', () => {
  test.each([
    ['550 5.1.1 No such user', 'to'],
    ['451 4.7.1 Try again later', 'to'],
    ['554 5.7.1 Spam', 'data'],
    ['421 4.7.0 Too many connections', 'from'],
    ['421 4.3.2 Shutting down', 'connect'],
  ] as const)('%s at %s is 200 failed with its words', async (answer, at) => {
    sink.next({ refuse: { at, answer } })
    const { status, body } = await send(freeform())
    expect([status, body]).toEqual([
      200,
      { id: expect.any(String), status: 'failed', error: expect.stringContaining(answer.slice(4)) },
    ])
    expect(sink.mails).toEqual([])
    expect((await send(freeform({ to: 'next@people.example' }))).body.status).toBe('sent')
  })

  test('a relay that can’t be connected to is 200 failed', async () => {
    await sink.close()
    const { body } = await send(freeform())
    expect(body).toMatchObject({ status: 'failed', error: expect.stringContaining('could not be reached') })
    sink = await openSink({ port: sink.port })
  })

  test.each(['mid-data', 'before-answer'] as const)(
    'a connection cut %s ends as failed, and nothing is sent again',
    async (drop) => {
      sink.next({ drop })
      const { body } = await send(freeform({ html: 'x'.repeat(200_000) }))
      expect(body).toMatchObject({ status: 'failed', error: 'delivery state unknown' })
      expect(sink.begun).toBe(1)
    },
  )

  test('a connection that the relay closed while it was idle costs nothing', async () => {
    await send(freeform())
    await sink.close()
    sink = await openSink({ port: sink.port })
    expect((await send(freeform())).body.status).toBe('sent')
  })

  test('no verdict within 10 s is 200 pending, and settled when it comes; a replay tells the end', async () => {
    sink.next({ delayMs: 11_000 })
    const { body } = await send(freeform(), { 'idempotency-key': 'slow' })
    expect(body).toEqual({ id: expect.any(String), status: 'pending' })
    await sink.arrived(1)
    const again = await send(freeform(), { 'idempotency-key': 'slow' })
    expect(again.body).toEqual({ id: body.id, status: 'sent' })
    expect(sink.mails).toHaveLength(1)
  }, 30_000)
})

describe('Idempotency-Key', () => {
  test('the same key gives the first result whatever the body, and no second mail', async () => {
    const first = await send(freeform(), { 'idempotency-key': 'k' })
    const again = await send({ to: 5 }, { 'idempotency-key': 'k' })
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(sink.mails).toHaveLength(1)
  })

  test('failed is replayed too', async () => {
    sink.next({ refuse: { at: 'to', answer: '550 No' } })
    const first = await send(freeform(), { 'idempotency-key': 'f' })
    expect(first.body.status).toBe('failed')
    expect((await send(freeform(), { 'idempotency-key': 'f' })).body).toEqual(first.body)
    expect(sink.mails).toEqual([])
  })

  test('400 and 404 free the key', async () => {
    expect((await send(freeform({ senderId: 'snd_x' }), { 'idempotency-key': 'free' })).status).toBe(400)
    expect((await send({ to: 'a@b.example', projectId: 'prj_x' }, { 'idempotency-key': 'free' })).status).toBe(404)
    expect((await send(freeform(), { 'idempotency-key': 'free' })).body.status).toBe('sent')
  })

  test('201 characters are 400, 200 are taken; keys are the account’s own', async () => {
    expect((await send(freeform(), { 'idempotency-key': 'x'.repeat(201) })).status).toBe(400)
    const first = await send(freeform(), { 'idempotency-key': 'x'.repeat(200) })
    account = await sendingAccount(t)
    const other = await send(freeform(), { 'idempotency-key': 'x'.repeat(200) })
    expect(other.body.id).not.toBe(first.body.id)
  })

  test('20 callers on one key: one mail, one id; a loser says pending or the end, and that it is a replay', async () => {
    sink.always({ delayMs: 300 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(freeform(), { 'idempotency-key': 'many' })))
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
    expect(replies.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(replies.every(({ body }) => ['sent', 'pending'].includes(body.status))).toBe(true)
    expect(sink.mails).toHaveLength(1)
  })

  test('the loser of a pair that waits for a slow relay answers pending', async () => {
    sink.next({ delayMs: 4000 })
    const pair = await Promise.all([1, 2].map(() => send(freeform(), { 'idempotency-key': 'pair' })))
    const [winner, loser] = pair.sort((a) => (a.headers['idempotent-replayed'] ? 1 : -1))
    expect(winner!.body.status).toBe('sent')
    expect([loser!.body, loser!.headers['idempotent-replayed']]).toEqual([
      { id: winner!.body.id, status: 'pending' },
      'true',
    ])
  })
})

describe('quotas', () => {
  const limit = (column: 'send_api_calls' | 'sends', units: number) =>
    t.app
      .sql(
        `insert into plans (name, position, contacts, sends, send_api_calls, embed_api, broadcast_minutes, webinar_courses)
       select $1, 9, null, null, null, null, null, true on conflict do nothing`,
        [`only ${column} ${units}`],
      )
      .then(() => t.app.sql(`update plans set ${column} = $2 where name = $1`, [`only ${column} ${units}`, units]))

  test.each([
    ['send_api_calls', 'Monthly Send API quota for your plan exceeded'],
    ['sends', 'Monthly send quota for your plan exceeded'],
  ] as const)('%s: of 50 callers on the last 5 units 5 pass, the others get 429', async (column, sentence) => {
    await limit(column, 5)
    account = await sendingAccount(t, { plan: `only ${column} 5` })
    const replies = await Promise.all(Array.from({ length: 50 }, () => send(freeform())))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5)
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(45)
    expect(refused.every(({ body }) => body.error === sentence)).toBe(true)
    expect(Number(refused[0]!.headers['retry-after'])).toBeGreaterThan(0)
    expect(sink.mails).toHaveLength(5)
  })

  test('the quota is looked at before the body, and only success counts', async () => {
    await limit('send_api_calls', 1)
    account = await sendingAccount(t, { plan: 'only send_api_calls 1' })
    expect((await send({})).status).toBe(400)
    expect((await send({ to: 'a@b.example', projectId: 'prj_x' })).status).toBe(404)
    const first = await send(freeform(), { 'idempotency-key': 'one' })
    expect(first.body.status).toBe('sent')
    expect((await send({})).status).toBe(429)
    expect((await send({}, { 'idempotency-key': 'one' })).body).toEqual(first.body)
  })

  test('a suppressed call uses a Send API call, and no volume', async () => {
    await limit('sends', 1)
    account = await sendingAccount(t, { plan: 'only sends 1' })
    await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, ['ada@people.example'], 'manual'))
    expect((await send(freeform())).body.status).toBe('suppressed')
    expect((await send(freeform({ to: 'b@people.example' }))).body.status).toBe('sent')
    const uses = await t.app.sql('select quota, used from quota_uses where account_id = $1 order by quota', [
      account.id,
    ])
    expect(uses).toEqual([
      { quota: 'sendApiCalls', used: 2 },
      { quota: 'sends', used: 1 },
    ])
  })

  test('a failed hand-over is counted as it was tried', async () => {
    sink.next({ refuse: { at: 'to', answer: '550 No' } })
    await send(freeform())
    const uses = await t.app.sql('select used from quota_uses where account_id = $1', [account.id])
    expect(uses).toEqual([{ used: 1 }, { used: 1 }])
  })
})

describe('suppression', () => {
  const suppress = (...reasons: ('complained' | 'bounced' | 'manual' | 'unsubscribed')[]) =>
    t.app.work(account.id, 'cli:test', async (work) => {
      for (const reason of reasons) await suppressAddresses(work, ['ada@people.example'], reason)
    })
  const contact = async (status: 'active' | 'pending', verdict: 'valid' | 'invalid' = 'valid', list = 'People') => {
    await t.app.work(account.id, 'cli:test', async (work) => {
      const { id } = await createList(work, { name: list })
      const verdicts = new Map([['ada@people.example', { status: verdict, reasons: [] }]])
      await writeContacts(work, id, [{ email: 'ada@people.example', fields: {} }], verdicts)
      await work.sql('update contacts set status = $2 where list_id = $1', [id, status])
    })
  }
  const reasonOf = async (type: string) => {
    const { status, body } = await send(freeform({ type }))
    expect(status).toBe(200)
    if (body.status === 'sent') return null
    expect(body).toEqual({ id: expect.any(String), status: 'suppressed', reason: expect.any(String) })
    return body.reason
  }

  test.each(['complained', 'bounced', 'manual'] as const)('%s stops everything', async (reason) => {
    await suppress(reason)
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual([reason, reason])
    expect(sink.mails).toEqual([])
  })

  test('an invalid address gets nothing', async () => {
    await contact('active', 'invalid')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual(['invalid', 'invalid'])
  })

  test('unsubscribed stops marketing only', async () => {
    await suppress('unsubscribed')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual([null, 'unsubscribed'])
  })

  test('pending in its lists stops marketing only; active in one of them it goes', async () => {
    await contact('pending')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual([null, 'pending'])
    await contact('active', 'valid', 'Others')
    expect(await reasonOf('marketing')).toBe(null)
  })

  test('of several reasons the gravest is told', async () => {
    await contact('pending', 'invalid')
    const told: (string | null)[] = []
    for (const reason of ['unsubscribed', 'manual', 'bounced', 'complained'] as const) {
      told.push(await reasonOf('marketing'))
      await suppress(reason)
    }
    told.push(await reasonOf('marketing'))
    expect(told).toEqual(['invalid', 'invalid', 'manual', 'bounced', 'complained'])
    await t.app.sql(`update addresses set verification_status = 'valid' where account_id = $1`, [account.id])
    await t.app.sql(`delete from suppressions where account_id = $1 and reason <> 'unsubscribed'`, [account.id])
    expect(await reasonOf('marketing')).toBe('unsubscribed')
  })

  test('it holds for the account alone', async () => {
    await suppress('manual')
    account = await sendingAccount(t)
    expect(await reasonOf('marketing')).toBe(null)
  })

  const verdict = async () =>
    (
      await t.app.sql(
        'select verification_status as status, verification_reasons as reasons from addresses where account_id = $1',
        [account.id],
      )
    )[0]

  test.each(['550 5.1.1 No such user', '550 5.1.1 No such user\nthat we know of', '553 5.1.10 Recipient not found'])(
    'a recipient whom the relay does not know (%s) is suppressed as bounced, its verdict invalid; the message stays failed',
    async (answer) => {
      await contact('active')
      sink.next({ refuse: { at: 'to', answer } })
      const { body } = await send(freeform())
      expect(body).toMatchObject({ status: 'failed', error: expect.stringContaining('5.1.1') })
      expect(await reasonOf('transactional')).toBe('bounced')
      expect(await verdict()).toEqual({ status: 'invalid', reasons: ['hard_bounced'] })
      expect((await messagesOf(t.app, account.id))[0]).toMatchObject({
        id: body.id,
        status: 'failed',
        error: body.error,
      })
    },
  )

  test.each([
    ['to', '550 5.1.8 Sender address rejected'],
    ['to', '550 5.7.1 Relaying denied'],
    ['to', '450 4.1.1 No such user yet'],
    ['from', '550 5.1.7 Bad sender'],
  ] as const)('a refusal that is not of the recipient suppresses nobody: at %s %s', async (at, answer) => {
    await contact('active')
    sink.next({ refuse: { at, answer } })
    expect((await send(freeform())).body.status).toBe('failed')
    expect(await reasonOf('transactional')).toBe(null)
    expect(await verdict()).toEqual({ status: 'valid', reasons: [] })
  })
})

test('marketing mail carries both headers of the one-click unsubscription', async () => {
  await send(freeform({ type: 'marketing' }))
  const [mail] = await sink.arrived(1)
  expect(mail!.header('list-unsubscribe')).toMatch(/^<https:\/\/svc\.example\/u\/[\w.-]+>$/)
  expect(mail!.header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
})
