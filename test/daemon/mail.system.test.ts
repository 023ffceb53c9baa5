import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { callDaemon, type Daemon, freePort } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { eventually } from '../support/deliveries.ts'
import { freeform, messagesOf, queueMany, sendingAccount, startMail, tallyMessages } from '../support/messages.ts'
import { endStarted } from '../support/scope.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let account: TestAccount
let sink: Sink

beforeAll(async () => {
  t = await startApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` } })
})
beforeEach(async () => {
  account = await sendingAccount(t)
  sink = await openSink({ port: Number(new URL(t.env.SVC_SMTP_URL!).port) })
})
afterEach(async () => {
  await endStarted()
  await sink.close()
})
afterAll(() => t?.close())

const { start } = useDaemons(() => t)
const post = async (daemon: Daemon) =>
  (await callDaemon(daemon, 'POST', '/send', { key: account.key, body: freeform() })).body
const tally = () => tallyMessages(t.app, account.id)
const message = async () => (await messagesOf(t.app, account.id))[0]!

test('three times kill -9 under load: each message is sent at most once, and at most one per connection is in doubt', async () => {
  sink.always({ delayMs: 5 })
  await queueMany(t.app, account.id, 750)
  for (let round = 1; round <= 3; round++) {
    const daemon = await start()
    await sink.arrived(sink.mails.length + 100)
    await daemon.kill('SIGKILL')
  }
  startMail(t.app)
  await eventually(async () => !(await tally()).pending)
  const counts = await tally()
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(sink.mails.length)
  expect(counts.failed ?? 0).toBeLessThanOrEqual(3 * 5)
  expect(sink.mails.length).toBeGreaterThanOrEqual(counts.sent!)
  expect(counts.sent! + (counts.failed ?? 0)).toBe(750)
})

test('SIGTERM under load: exit 0, messages in flight are recorded, the others are released, nothing is in doubt', async () => {
  sink.always({ delayMs: 100 })
  const daemon = await start()
  await queueMany(t.app, account.id, 150)
  await sink.arrived(20)
  expect(await daemon.stop()).toBe(0)
  expect(daemon.log()).not.toMatch(/job failed/)
  const rows = await messagesOf(t.app, account.id)
  expect(rows.filter(({ status }) => status === 'sent')).toHaveLength(sink.mails.length)
  expect(rows.filter(({ status, state }) => status === 'pending' && state !== 'queued')).toEqual([])
  startMail(t.app)
  await eventually(async () => (await tally()).sent === 150)
  expect(sink.mails).toHaveLength(150)
})

test('SIGTERM while a call waits for a hanging relay: the answer is pending, and the stop takes less than 15 s', async () => {
  sink.always({ hang: 'data' })
  const daemon = await start()
  const call = post(daemon)
  await eventually(() => sink.begun === 1)
  const before = Date.now()
  expect(await daemon.stop()).toBe(0)
  expect(Date.now() - before).toBeLessThan(15_000)
  expect((await call).status).toBe('pending')
  expect(await message()).toMatchObject({ status: 'failed', error: 'delivery state unknown' })
})
