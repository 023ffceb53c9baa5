import { randomBytes } from 'node:crypto'
import PostalMime from 'postal-mime'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AnswerThief, openAnswerThief } from '../../support/answers.ts'
import { type TestAccount, useApp } from '../../support/app.ts'
import { callDaemon, freePort } from '../../support/daemon.ts'
import { eventually } from '../../support/deliveries.ts'
import { settlesWithin } from '../../support/eventually.ts'
import { holdUp } from '../../support/hold.ts'
import { startApi, startJob, startSend } from '../../support/jobs.ts'
import { freeform, messagesOf, queueMany, sendingAccount, startMail, tallyMessages } from '../../support/messages.ts'
import { atEnd, endStarted } from '../../support/scope.ts'
import { openSink, type Sink } from '../../support/smtp.ts'

// A worker of the queue, or a process that serves POST /send, dies, stops or loses an answer of the database while it has messages.

/** Connections to a relay. */
const connections = 5

let account: TestAccount
let sink: Sink

const port = await freePort()
const t = useApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${port}` } })
beforeEach(async () => {
  account = await sendingAccount(t)
  sink = await openSink({ port })
})
afterEach(async () => {
  await endStarted()
  await sink.close()
  await t.app.sql('delete from message_queue')
})

const post = async (api: { url: string }, more: object = {}, headers: Record<string, string> = {}) =>
  (await callDaemon(api, 'POST', '/send', { key: account.key, body: freeform(more), headers })).body
const postMany = (api: { url: string }, count: number) =>
  Array.from({ length: count }, (_, n) => post(api, { to: `caller${n}@people.example` }).catch(() => null))
const tally = () => tallyMessages(t.app, account.id)
const settled = () => eventually(async () => !(await tally()).pending)
const messages = () => messagesOf(t.app, account.id)
const message = async () => (await messages())[0]!
const unknown = { status: 'failed', error: 'delivery state unknown' }

/** Expects `count` messages, at most one email for each recipient, and one for each sent message; returns the failed ones. */
const expectOnceEach = async (count: number) => {
  const states = await messages()
  expect(states).toHaveLength(count)
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(sink.mails.length)
  expect(sink.mails.length).toBeGreaterThanOrEqual(states.filter(({ status }) => status === 'sent').length)
  return states.filter(({ status }) => status === 'failed')
}

describe('the death of a worker', () => {
  test('with 80 messages at a slow relay: at most one per connection is in doubt, all others are sent once', async () => {
    sink.always({ delayMs: 200 })
    await queueMany(t.app, account.id, 80)
    const worker = await startJob(t, 'mail')
    await sink.arrived(10)
    expect(sink.open).toBeLessThanOrEqual(connections)
    await worker.kill()
    sink.always({})
    startMail(t.app)
    await settled()
    const failed = await expectOnceEach(80)
    expect(failed.length).toBeLessThanOrEqual(connections)
    expect(failed).toMatchObject(failed.map(() => unknown))
  })

  test('between the record of a bounce and its suppression: the next one suppresses the address', async () => {
    const locker = await t.app.database.connect()
    atEnd(() => locker.end())
    await locker.query('begin')
    await locker.query(
      `insert into suppressions (account_id, email, reason, created_at) values ('${account.id}', 'person0@people.example', 'bounced', now())`,
    )
    sink.next({ refuse: { at: 'to', answer: '550 5.1.1 No such user' } })
    await queueMany(t.app, account.id, 1)
    const worker = await startJob(t, 'mail')
    await eventually(async () => (await tally()).failed === 1)
    expect(await t.app.sql('select from pending_suppressions')).toHaveLength(1)
    await worker.kill()
    await locker.query('rollback')
    startMail(t.app)
    const suppressed = () => t.app.sql('select from suppressions where account_id = $1', [account.id])
    await eventually(async () => (await suppressed()).length === 1)
    expect(await t.app.sql('select from pending_suppressions')).toEqual([])
  })
})

describe('the death of a process that serves POST /send', () => {
  test('after the message is stored and before it is handed to the relay: a worker sends it once', async () => {
    const held = await holdUp(t, 'update on message_queue', { when: 'new.is_handing' })
    const api = await startSend(t)
    const call = post(api).catch(() => null)
    await held.reached()
    await api.kill()
    await call
    await held.end()
    expect(await message()).toMatchObject({ status: 'pending', state: 'claimed' })
    startMail(t.app)
    await eventually(async () => (await message()).status === 'sent')
    expect([sink.begun, sink.mails.length]).toEqual([1, 1])
  })

  test('while the relay has the message: it is failed with delivery state unknown, and is not sent again', async () => {
    sink.always({ hang: 'data' })
    const api = await startSend(t)
    const call = post(api, {}, { 'idempotency-key': 'k' }).catch(() => null)
    await eventually(() => sink.begun === 1)
    await api.kill()
    await call
    expect(await message()).toMatchObject({ status: 'pending', state: 'handing' })
    sink.always({})
    startMail(t.app)
    await eventually(async () => (await message()).status === 'failed')
    const headers = { 'idempotency-key': 'k' }
    const again = await t.request('POST', '/send', { key: account.key, body: freeform(), headers })
    expect(again.body).toEqual({ id: (await message()).id, ...unknown })
    expect([sink.begun, sink.mails.length]).toEqual([1, 0])
  })

  test('between the relay’s acceptance and its record: the message is failed, and is not sent again', async () => {
    const held = await holdUp(t, 'update on messages', { when: `new.status = 'sent'` })
    const api = await startSend(t)
    const call = post(api).catch(() => null)
    await held.reached()
    expect(sink.mails).toHaveLength(1)
    await api.kill()
    await call
    await held.end()
    startMail(t.app)
    await eventually(async () => (await message()).status === 'failed')
    expect(sink.mails).toHaveLength(1)
  })

  test('with 60 waiting callers: at most one message per connection is in doubt, all others are sent once', async () => {
    sink.always({ delayMs: 200 })
    const api = await startSend(t)
    const calls = postMany(api, 60)
    await sink.arrived(10)
    await eventually(async () => (await messages()).length === 60)
    await api.kill()
    await Promise.all(calls)
    sink.always({})
    startMail(t.app)
    await settled()
    expect((await expectOnceEach(60)).length).toBeLessThanOrEqual(connections)
  })

  test('before and during the hand-over of emails with copies and files: each recipient gets one, or its state is unknown', async () => {
    const files = [randomBytes(1_500_000), randomBytes(0), randomBytes(100)]
    const attachments = files.map((file, i) => ({ filename: `${i}.bin`, content: file.toString('base64') }))
    const send = (api: { url: string }, name: string, more: object = {}) => {
      const [to, cc, bcc] = ['to', 'cc', 'bcc'].map((kind) => `${name}-${kind}@people.example`)
      return post(api, { to, cc: [cc], bcc: [bcc], attachments, ...more })
    }
    const later = () => ({ scheduledAt: t.app.now().getTime() + 3_600_000 })
    const becomeDue = () => t.app.sql('update message_queue set due_at = svc_now() where account_id = $1', [account.id])
    const held = await holdUp(t, 'update on message_queue', { when: 'new.is_handing' })
    const api = await startSend(t)
    expect(await send(api, 'later', later())).toMatchObject({ status: 'pending' })
    const call = send(api, 'now').catch(() => null)
    await held.reached()
    await api.kill()
    await call
    await held.end()
    expect(sink.begun).toBe(0)

    await becomeDue()
    const [one, two] = [await startJob(t, 'mail'), startMail(t.app)]
    await settled()
    expect([await tally(), sink.begun]).toEqual([{ sent: 6 }, 6])
    expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(6)
    for (const { raw } of sink.mails) {
      const { attachments: found, to, cc, bcc } = await PostalMime.parse(raw)
      expect(found.map(({ content }, i) => Buffer.from(content as ArrayBuffer).equals(files[i]!))).toEqual([
        true,
        true,
        true,
      ])
      expect([to![0]!.address, cc![0]!.address, bcc]).toEqual([
        expect.stringContaining('-to@'),
        to![0]!.address!.replace('-to@', '-cc@'),
        undefined,
      ])
      expect(raw).not.toContain('-bcc@')
    }

    await two.stop()
    sink.always({ hang: 'data' })
    const people = { to: 'last-to@people.example', cc: ['last-cc@people.example'], bcc: ['last-bcc@people.example'] }
    const body = freeform({ ...people, attachments, ...later() })
    expect((await t.request('POST', '/send', { key: account.key, body })).body).toMatchObject({ status: 'pending' })
    await becomeDue()
    // Two large messages are sent at a time.
    await eventually(() => sink.begun === 8)
    await one.kill()
    sink.always({})
    startMail(t.app)
    await settled()
    expect([sink.begun, sink.mails.length]).toEqual([9, 7])
    expect((await messages()).filter(({ status }) => status === 'failed')).toMatchObject([unknown, unknown])
  })
})

describe('a stop', () => {
  test('returns messages without a connection to the queue, a worker sends them, and nothing fails', async () => {
    sink.always({ delayMs: 1000 })
    await queueMany(t.app, account.id, 30)
    const [api, worker] = await Promise.all([startApi(t), startJob(t, 'mail')])
    const calls = postMany(api, 30)
    await sink.arrived(5)
    await eventually(async () => (await messages()).length === 60)
    const stopsAt = performance.now()
    await Promise.all([api.stop(), worker.stop()])
    // On a slow machine replies of the relay can come after the 10 s that a stop waits for them.
    const inDoubt = performance.now() - stopsAt < 10_000 ? 0 : 2 * connections
    const answers = await Promise.all(calls)
    expect(answers.filter((answer) => answer && !['sent', 'pending'].includes(answer.status))).toEqual([])
    expect((await messages()).filter(({ state }) => state === 'handing')).toEqual([])
    sink.always({})
    startMail(t.app)
    await settled()
    expect((await expectOnceEach(60)).length).toBeLessThanOrEqual(inDoubt)
    expect(sink.mails.length).toBeGreaterThanOrEqual(60 - inDoubt)
  })

  test('while a call waits for a hanging relay takes less than 15 s, and the answer is pending', async () => {
    sink.always({ hang: 'data' })
    const api = await startApi(t)
    const call = post(api)
    await eventually(() => sink.begun === 1)
    expect(await settlesWithin(api.stop(), 15_000)).toBe(true)
    expect((await call).status).toBe('pending')
    expect(await message()).toMatchObject(unknown)
  })
})

test('two processes that get calls with the same 50 keys send 50 emails', async () => {
  const apis = await Promise.all([startSend(t), startSend(t)])
  const keys = Array.from({ length: 50 }, (_, i) => `key-${i}`)
  // A busy machine answers 503 while a process's sender starts. Its sentence says that the call may be repeated.
  const repeated = async (api: { url: string }, key: string) => {
    const headers = { 'idempotency-key': key }
    const call = () => callDaemon(api, 'POST', '/send', { key: account.key, body: freeform(), headers })
    let answer = await call()
    while (answer.status === 503) answer = await call()
    return answer.body
  }
  const answers = await Promise.all(apis.flatMap((api) => keys.map((key) => repeated(api, key))))
  expect(new Set(answers.map(({ id }) => id)).size).toBe(50)
  await eventually(async () => (await tally()).sent === 50)
  expect(sink.mails).toHaveLength(50)
})

describe('if the database connection is cut between execution and answer', () => {
  let lossy: AnswerThief
  beforeEach(async () => {
    lossy = await openAnswerThief(t.env.DATABASE_URL!)
    atEnd(lossy.close)
  })

  test('of a claim, the claimed messages are sent within seconds, each once', async () => {
    await startJob(t, 'mail', { env: { DATABASE_URL: lossy.url } })
    lossy.steal('claim-messages')
    await queueMany(t.app, account.id, 50)
    await eventually(() => lossy.stolen === 1)
    // The worker frees what it does not hold every 2 s after a claim has failed; otherwise only every 30 s.
    expect(await settlesWithin(settled(), 15_000)).toBe(true)
    expect(await expectOnceEach(50)).toEqual([])
    expect(sink.mails).toHaveLength(50)
  })

  test('of the commit of POST /send, the message is sent once, and a retry with the key gets the result', async () => {
    const api = await startSend(t, { env: { DATABASE_URL: lossy.url } })
    startMail(t.app)
    expect((await post(api, { to: 'caller0@people.example' })).status).toBe('sent')
    lossy.steal('commit', 'insert-messages')
    const retry = () => post(api, { to: 'caller1@people.example' }, { 'idempotency-key': 'lost' })
    await retry()
    expect(lossy.stolen).toBe(1)
    expect(await messages()).toHaveLength(2)
    await eventually(async () => (await retry()).status === 'sent')
    expect(await expectOnceEach(2)).toEqual([])
    expect(sink.mails).toHaveLength(2)
  })
})
