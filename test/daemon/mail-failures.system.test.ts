import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type AnswerThief, openAnswerThief } from '../support/answers.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { callDaemon, type Daemon, freePort } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { eventually } from '../support/deliveries.ts'
import { freeform, messagesOf, queueMany, sendingAccount, tallyMessages } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

const connections = 5

let t: TestApp
let account: TestAccount
let sink: Sink
const thieves: AnswerThief[] = []

beforeAll(async () => {
  t = await startApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` } })
})
beforeEach(async () => {
  account = await sendingAccount(t)
  sink = await openSink({ port: Number(new URL(t.env.SVC_SMTP_URL!).port) })
})
afterEach(async () => {
  for (const thief of thieves.splice(0)) await thief.close()
  await sink.close()
})
afterAll(() => t?.close())

const { start } = useDaemons(() => t)
const post = async (daemon: Daemon, n: number, headers: Record<string, string> = {}) => {
  const body = freeform({ to: `caller${n}@people.example` })
  return (await callDaemon(daemon, 'POST', '/send', { key: account.key, body, headers })).body
}
const tally = () => tallyMessages(t.app, account.id)
const isSettled = async () => !(await tally()).pending
const recipients = () => sink.mails.map(({ to }) => to[0])

/** Expects `count` messages, at most one email for each recipient, and one for each sent message; returns the failed ones. */
const expectOnceEach = async (count: number) => {
  const states = await messagesOf(t.app, account.id)
  expect(states).toHaveLength(count)
  expect(new Set(recipients()).size).toBe(sink.mails.length)
  expect(sink.mails.length).toBeGreaterThanOrEqual(states.filter(({ status }) => status === 'sent').length)
  return states.filter(({ status }) => status === 'failed')
}

describe('a slow relay and 80 waiting messages', () => {
  beforeEach(() => sink.always({ delayMs: 400 }))

  test('kill -9: at most one message per connection is in doubt, all others are sent once', async () => {
    await queueMany(t.app, account.id, 80)
    const daemon = await start()
    await sink.arrived(10)
    expect(sink.open).toBeLessThanOrEqual(connections)
    await daemon.kill('SIGKILL')
    await start()
    await eventually(isSettled)
    const failed = await expectOnceEach(80)
    expect(failed.length).toBeLessThanOrEqual(connections)
    expect(failed.filter(({ error }) => error !== 'delivery state unknown')).toEqual([])
  })

  test('kill -9 with 60 waiting callers of POST /send: at most one message per connection is in doubt, all others are sent once', async () => {
    const api = await start(['serve', '--no-jobs'])
    const calls = Array.from({ length: 60 }, (_, n) => post(api, n).catch(() => null))
    await sink.arrived(10)
    await eventually(async () => (await messagesOf(t.app, account.id)).length === 60)
    await api.kill('SIGKILL')
    await Promise.all(calls)
    await start()
    await eventually(isSettled)
    expect((await expectOnceEach(60)).length).toBeLessThanOrEqual(connections)
  })

  test('SIGTERM: messages without a connection return to the queue, the next daemon sends them, and nothing fails', async () => {
    sink.always({ delayMs: 1000 })
    await queueMany(t.app, account.id, 30)
    const daemon = await start()
    const calls = Array.from({ length: 30 }, (_, n) => post(daemon, n).catch(() => null))
    await sink.arrived(5)
    await eventually(async () => (await messagesOf(t.app, account.id)).length === 60)
    expect(await daemon.stop()).toBe(0)
    const answers = await Promise.all(calls)
    expect(answers.filter((answer) => answer && !['sent', 'pending'].includes(answer.status))).toEqual([])
    expect((await messagesOf(t.app, account.id)).filter(({ state }) => state === 'handing')).toEqual([])
    sink.always({ delayMs: 100 })
    await start()
    await eventually(isSettled)
    expect(await expectOnceEach(60)).toEqual([])
    expect(sink.mails).toHaveLength(60)
  })
})

test('kill -9 between the record of a bounce and its suppression: the next daemon suppresses the address', async () => {
  const locker = await t.app.database.connect()
  await locker.query('begin')
  await locker.query(
    `insert into suppressions (account_id, email, reason, created_at) values ('${account.id}', 'caller0@people.example', 'bounced', now())`,
  )
  sink.next({ refuse: { at: 'to', answer: '550 5.1.1 No such user' } })
  const daemon = await start()
  const call = post(daemon, 0).catch(() => null)
  await eventually(async () => (await tally()).failed === 1)
  expect(await t.app.sql('select from pending_suppressions')).toHaveLength(1)
  await daemon.kill('SIGKILL')
  await call
  await locker.query('rollback')
  await locker.end()
  await start()
  const isSuppressed = async () =>
    (await t.app.sql('select from suppressions where account_id = $1', [account.id])).length === 1
  await eventually(isSuppressed)
  expect(await t.app.sql('select from pending_suppressions')).toEqual([])
})

describe('if the database connection is cut between execution and answer', () => {
  const thief = async () => {
    const opened = await openAnswerThief(t.env.DATABASE_URL!)
    thieves.push(opened)
    return opened
  }

  test('of a claim, the claimed messages are sent within seconds, each once', async () => {
    const lossy = await thief()
    await start(['serve'], { DATABASE_URL: lossy.url })
    lossy.steal('claim-messages')
    await queueMany(t.app, account.id, 50)
    await eventually(() => lossy.stolen === 1)
    await eventually(isSettled)
    expect(await expectOnceEach(50)).toEqual([])
    expect(sink.mails).toHaveLength(50)
  })

  test('of the commit of POST /send, the message is sent once, and a retry with the key gets the result', async () => {
    const lossy = await thief()
    const daemon = await start(['serve'], { DATABASE_URL: lossy.url })
    expect((await post(daemon, 0)).status).toBe('sent')
    lossy.steal('commit', 'insert-messages')
    await post(daemon, 1, { 'idempotency-key': 'lost' })
    expect(lossy.stolen).toBe(1)
    expect(await messagesOf(t.app, account.id)).toHaveLength(2)
    const retried = async () => (await post(daemon, 1, { 'idempotency-key': 'lost' })).status
    await eventually(async () => (await retried()) === 'sent')
    expect(await expectOnceEach(2)).toEqual([])
    expect(sink.mails).toHaveLength(2)
  })
})
