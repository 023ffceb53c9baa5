import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList, writeContacts } from '../../../src/contacts/contacts.ts'
import { addSender } from '../../../src/senders/senders.change.ts'
import { suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freePort } from '../../support/daemon.ts'
import { freeform, messagesOf, sendingAccount } from '../../support/messages.ts'
import { openSink, type Sink } from '../../support/smtp.ts'

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

describe('a freeform email', () => {
  test('is sent unchanged before the response', async () => {
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

  test.each(['subject', 'html', 'text', 'to'])(
    'returns 400 without %s, and names the missing property',
    async (name) => {
      const { status, body } = await send({ ...freeform(), [name]: undefined })
      expect([status, body.error]).toEqual([400, expect.stringContaining(name)])
      expect(await messagesOf(t.app, account.id)).toEqual([])
    },
  )

  test.each([
    ['a recipient that is not an address', { to: 'ada' }, 'to'],
    ['two recipients', { to: 'a@people.example, b@people.example' }, 'to'],
    ['a recipient with a line end', { to: 'a@people.example\r\nBcc: b@people.example' }, 'to'],
    ['an unknown type', { type: 'newsletter' }, 'type'],
    ['a replyTo that is not an address', { replyTo: 'me' }, 'replyTo'],
    ['a from without email', { from: { name: 'X' } }, 'from.email'],
    ['NUL in the html', { html: 'a\0b' }, 'html'],
  ])('returns 400 for %s', async (_, more, name) => {
    const { status, body } = await send(freeform(more))
    expect([status, body.error]).toEqual([400, expect.stringContaining(name)])
  })

  test('a subject is cut to 200 characters without splitting one', async () => {
    await ok(send(freeform({ subject: '😀'.repeat(201) })))
    const [mail] = await sink.arrived(1)
    const encoded = [...mail!.raw.slice(0, mail!.raw.indexOf('\r\n\r\n')).matchAll(/=\?UTF-8\?B\?([^?]+)\?=/gi)]
    expect(encoded.map(([, text]) => Buffer.from(text!, 'base64').toString()).join('')).toBe('😀'.repeat(200))
  })

  test('line ends in subject and name inject no header and no recipient', async () => {
    await t.app.work(account.id, 'cli:test', (work) => addSender(work, { email: 'evil@shop.example', name: 'x' }))
    await ok(
      send(
        freeform({
          subject: 'Hi\r\nBcc: eve@people.example',
          from: { email: 'evil@shop.example', name: 'Eve\r\nBcc: eve@people.example' },
        }),
      ),
    )
    const [mail] = await sink.arrived(1)
    expect(mail!.to).toEqual(['ada@people.example'])
    expect(mail!.header('bcc')).toBeUndefined()
    expect(mail!.header('subject')).toBe('Hi Bcc: eve@people.example')
  })

  test('5 MB of html are sent, 8 MB and more return 413', async () => {
    expect((await send(freeform({ html: 'x'.repeat(5e6) }))).body).toMatchObject({ status: 'sent' })
    expect((await send(freeform({ html: 'x'.repeat(9e6) }))).status).toBe(413)
    expect((await sink.arrived(1))[0]!.raw.length).toBeGreaterThan(5e6)
  })
})

describe('from, senderId and replyTo', () => {
  const add = (email: string, more: { name?: string; replyTo?: string } = {}) =>
    t.app.work(account.id, 'cli:test', (work) => addSender(work, { email, name: 'Other', ...more }))

  test('from must be a sender of the account or an address on one of its verified domains', async () => {
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

  test('senderId selects address, name and reply-to; an unknown id or one of another account returns 400', async () => {
    const { id } = await add('team@shop.example', { replyTo: 'answers@shop.example' })
    expect((await send(freeform({ senderId: id }))).body.status).toBe('sent')
    const [mail] = await sink.arrived(1)
    expect(mail!.header('from')).toBe('Other <team@shop.example>')
    expect(mail!.header('reply-to')).toBe('answers@shop.example')
    expect((await send(freeform({ senderId: 'snd_nobody' }))).status).toBe(400)
    account = await sendingAccount(t)
    expect((await send(freeform({ senderId: id }))).status).toBe(400)
  })

  test('from takes precedence over senderId, and replyTo over the sender’s', async () => {
    const { id } = await add('team@shop.example', { replyTo: 'answers@shop.example' })
    await ok(send(freeform({ senderId: id, from: { email: 'hello@shop.example' }, replyTo: 'me@shop.example' })))
    const [mail] = await sink.arrived(1)
    expect(mail!.header('from')).toBe('The Shop <hello@shop.example>')
    expect(mail!.header('reply-to')).toBe('me@shop.example')
  })

  test('without from, senderId and default sender the call returns 400', async () => {
    account = await t.account()
    const { status, body } = await send(freeform())
    expect([status, body.error]).toEqual([400, expect.stringContaining('from')])
  })
})

test('POST /send of an account without a sending method returns 400', async () => {
  const bare = await startApp()
  const other = await sendingAccount(bare)
  const { status, body } = await bare.request('POST', '/send', { key: other.key, body: freeform() })
  expect([status, body]).toEqual([400, { error: 'The account has no sending method' }])
  await bare.close()
})

describe('the relay’s answer', () => {
  test.each([
    ['550 5.1.1 No such user', 'to'],
    ['451 4.7.1 Try again later', 'to'],
    ['554 5.7.1 Spam', 'data'],
    ['421 4.7.0 Too many connections', 'from'],
    ['421 4.3.2 Shutting down', 'connect'],
  ] as const)('%s at %s returns 200 and failed, with the relay’s reply', async (answer, at) => {
    sink.next({ refuse: { at, answer } })
    const { status, body } = await send(freeform())
    expect([status, body]).toEqual([
      200,
      { id: expect.any(String), status: 'failed', error: expect.stringContaining(answer.slice(4)) },
    ])
    expect(sink.mails).toEqual([])
    expect((await send(freeform({ to: 'next@people.example' }))).body.status).toBe('sent')
  })

  test('an unreachable relay returns 200 and failed', async () => {
    await sink.close()
    const { body } = await ok(send(freeform()))
    expect(body).toMatchObject({ status: 'failed', error: expect.stringContaining('could not be reached') })
    sink = await openSink({ port: sink.port })
  })

  test.each(['mid-data', 'before-answer'] as const)(
    'a connection cut %s is failed, and the message is not sent again',
    async (drop) => {
      sink.next({ drop })
      const { body } = await ok(send(freeform({ html: 'x'.repeat(200_000) })))
      expect(body).toMatchObject({ status: 'failed', error: 'delivery state unknown' })
      expect(sink.begun).toBe(1)
    },
  )

  test('an idle connection that the relay closed is replaced without an error', async () => {
    await ok(send(freeform()))
    await sink.close()
    sink = await openSink({ port: sink.port })
    expect((await send(freeform())).body.status).toBe('sent')
  })

  test('no answer within 10 s returns 200 and pending; the late answer is recorded, and a replay returns it', async () => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.next({ until })
    const { body } = await ok(send(freeform(), { 'idempotency-key': 'slow' }))
    expect(body).toEqual({ id: expect.any(String), status: 'pending' })
    answer()
    await sink.arrived(1)
    const again = await send(freeform(), { 'idempotency-key': 'slow' })
    expect(again.body).toEqual({ id: body.id, status: 'sent' })
    expect(sink.mails).toHaveLength(1)
  })
})

describe('Idempotency-Key', () => {
  test('the same key returns the first result whatever the body, and sends no second email', async () => {
    const first = await send(freeform(), { 'idempotency-key': 'k' })
    const again = await send({ to: 5 }, { 'idempotency-key': 'k' })
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(sink.mails).toHaveLength(1)
  })

  test('a failed result is replayed too', async () => {
    sink.next({ refuse: { at: 'to', answer: '550 No' } })
    const first = await send(freeform(), { 'idempotency-key': 'f' })
    expect(first.body.status).toBe('failed')
    expect((await send(freeform(), { 'idempotency-key': 'f' })).body).toEqual(first.body)
    expect(sink.mails).toEqual([])
  })

  test('a key is free again after 400 and 404', async () => {
    expect((await send(freeform({ senderId: 'snd_x' }), { 'idempotency-key': 'free' })).status).toBe(400)
    expect((await send({ to: 'a@b.example', projectId: 'prj_x' }, { 'idempotency-key': 'free' })).status).toBe(404)
    expect((await send(freeform(), { 'idempotency-key': 'free' })).body.status).toBe('sent')
  })

  test('a key of 201 characters returns 400, one of 200 is accepted; accounts have separate keys', async () => {
    expect((await send(freeform(), { 'idempotency-key': 'x'.repeat(201) })).status).toBe(400)
    const first = await send(freeform(), { 'idempotency-key': 'x'.repeat(200) })
    account = await sendingAccount(t)
    const other = await send(freeform(), { 'idempotency-key': 'x'.repeat(200) })
    expect(other.body.id).not.toBe(first.body.id)
  })

  test('20 concurrent calls with one key send one email; the others return its result or pending, marked as replays', async () => {
    sink.always({ delayMs: 300 })
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(freeform(), { 'idempotency-key': 'many' })))
    expect(new Set(replies.map(({ body }) => body.id)).size).toBe(1)
    expect(replies.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
    expect(replies.every(({ body }) => ['sent', 'pending'].includes(body.status))).toBe(true)
    expect(sink.mails).toHaveLength(1)
  })

  test('the second call with a key returns pending while the relay is slow', async () => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.next({ until })
    const pair = [1, 2].map(() => send(freeform(), { 'idempotency-key': 'pair' }))
    const loser = await Promise.race(pair)
    answer()
    const winner = (await Promise.all(pair)).find((reply) => reply !== loser)!
    expect([winner.body.status, winner.headers['idempotent-replayed']]).toEqual(['sent', undefined])
    expect([loser.body, loser.headers['idempotent-replayed']]).toEqual([
      { id: winner.body.id, status: 'pending' },
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
  ] as const)(
    '%s: of 50 concurrent calls on the last 5 units exactly 5 succeed, the others get 429',
    async (column, sentence) => {
      await limit(column, 5)
      account = await sendingAccount(t, { plan: `only ${column} 5` })
      const replies = await Promise.all(Array.from({ length: 50 }, () => send(freeform())))
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(5)
      const refused = replies.filter(({ status }) => status === 429)
      expect(refused).toHaveLength(45)
      expect(refused.every(({ body }) => body.error === sentence)).toBe(true)
      expect(Number(refused[0]!.headers['retry-after'])).toBeGreaterThan(0)
      expect(sink.mails).toHaveLength(5)
    },
  )

  test('the quota is checked before the body, and only success counts', async () => {
    await limit('send_api_calls', 1)
    account = await sendingAccount(t, { plan: 'only send_api_calls 1' })
    expect((await send({})).status).toBe(400)
    expect((await send({ to: 'a@b.example', projectId: 'prj_x' })).status).toBe(404)
    const first = await send(freeform(), { 'idempotency-key': 'one' })
    expect(first.body.status).toBe('sent')
    expect((await send({})).status).toBe(429)
    expect((await send({}, { 'idempotency-key': 'one' })).body).toEqual(first.body)
  })

  test.each([
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@xn--bcher-kva.example', 'ada@bücher.example'],
  ])('an address suppressed as %s gets no email as %s: they are the same address', async (suppressed, to) => {
    const run = await svc(t, ['suppressions', 'add', suppressed, '--reason', 'manual', '--account', account.id])
    expect(run.status, run.stderr).toBe(0)
    expect((await send(freeform({ to }))).body).toMatchObject({ status: 'suppressed', reason: 'manual' })
    const list = await svc(t, ['lists', 'create', '--name', 'L', '--account', account.id, '--json'])
    const body = { listId: list.json.id, contacts: [{ email: suppressed }, { email: to }] }
    const { created, updated } = (await t.request('POST', '/contacts', { key: account.key, body })).body
    expect([created, updated]).toEqual([1, 0])
  })

  test('a suppressed message counts as a Send API call, but not as a send', async () => {
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

  test('a failed send counts against the quotas', async () => {
    sink.next({ refuse: { at: 'to', answer: '550 No' } })
    await ok(send(freeform()))
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

  test('an invalid address gets no email', async () => {
    await contact('active', 'invalid')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual(['invalid', 'invalid'])
  })

  test('unsubscribed stops marketing only', async () => {
    await suppress('unsubscribed')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual([null, 'unsubscribed'])
  })

  test('a contact that is pending in all its lists gets no marketing; one active in any list does', async () => {
    await contact('pending')
    expect([await reasonOf('transactional'), await reasonOf('marketing')]).toEqual([null, 'pending'])
    await contact('active', 'valid', 'Others')
    expect(await reasonOf('marketing')).toBe(null)
  })

  test('of several reasons the most severe is returned', async () => {
    await contact('pending', 'invalid')
    const told: (string | null | undefined)[] = []
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

  test('svc send explains why the email was not sent, and suggests the next command', async () => {
    const part = import.meta.filename
    const given = ['send', '--to', 'ada@people.example', '--subject', 'Hi', '--html', `@${part}`, '--text', `@${part}`]
    const noteOf = async (...more: string[]) => {
      const ran = await svc(t, [...given, '--account', account.id, '--json', ...more])
      expect(ran.status).toBe(0)
      return { status: ran.json.status, note: ran.stderr }
    }
    const marketing = ['--type', 'marketing']
    expect(await noteOf(...marketing)).toEqual({ status: 'sent', note: '' })
    await contact('pending')
    expect(await noteOf(...marketing)).toEqual({
      status: 'suppressed',
      note: 'not sent: the contact is not active in any list, and only active contacts get marketing\n  next: svc contacts show ada@people.example\n',
    })
    await t.app.sql(
      `update addresses set verification_status = 'invalid', verification_reasons = '{domain_not_found}' where account_id = $1`,
      [account.id],
    )
    expect(await noteOf()).toEqual({
      status: 'suppressed',
      note: 'not sent: the address failed verification (domain_not_found)\n  next: svc contacts verify ada@people.example\n',
    })
    await suppress('bounced')
    expect(await noteOf()).toEqual({
      status: 'suppressed',
      note: 'not sent: the address is suppressed (bounced)\n  next: svc suppressions remove ada@people.example\n',
    })
  })

  test('a suppression applies to its own account only', async () => {
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
    'a recipient that the relay rejects as unknown (%s) is suppressed as bounced and invalid; the message is failed',
    async (answer) => {
      await contact('active')
      sink.next({ refuse: { at: 'to', answer } })
      const { body } = await ok(send(freeform()))
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
  ] as const)('a refusal for another reason suppresses no address: at %s %s', async (at, answer) => {
    await contact('active')
    sink.next({ refuse: { at, answer } })
    expect((await send(freeform())).body.status).toBe('failed')
    expect(await reasonOf('transactional')).toBe(null)
    expect(await verdict()).toEqual({ status: 'valid', reasons: [] })
  })
})

test('marketing emails have both headers of one-click unsubscription', async () => {
  await ok(send(freeform({ type: 'marketing' })))
  const [mail] = await sink.arrived(1)
  expect(mail!.header('list-unsubscribe')).toMatch(/^<https:\/\/svc\.example\/u\/[\w.-]+>$/)
  expect(mail!.header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click')
})
