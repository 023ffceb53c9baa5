import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { callDaemon, type Daemon, freePort } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { eventually } from '../support/deliveries.ts'
import { freeform, messagesOf, queueMany, sendingAccount, tallyMessages } from '../support/messages.ts'
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
  await sink.close()
})
afterAll(() => t?.close())

const { start } = useDaemons(() => t)
const post = async (daemon: Daemon, headers: Record<string, string> = {}) =>
  (await callDaemon(daemon, 'POST', '/send', { key: account.key, body: freeform(), headers })).body
const tally = () => tallyMessages(t.app, account.id)
const message = async () => (await messagesOf(t.app, account.id))[0]!

/** Blocks every update of the table that meets the condition; `end` terminates the blocked sessions and lifts the block. */
const holdUp = async (table: string, condition: string) => {
  await t.app.sql(`create function hold_up() returns trigger language plpgsql as $$
    begin perform pg_sleep(60); return new; end $$`)
  await t.app.sql(
    `create trigger hold_up before update on ${table} for each row when (${condition}) execute function hold_up()`,
  )
  const held = async () => {
    const rows = await t.app.sql<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    )
    return rows.map(({ pid }) => pid)
  }
  return {
    reached: () => eventually(async () => (await held()).length > 0),
    async end() {
      await t.app.sql('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [await held()])
      await t.app.sql('drop function hold_up cascade')
    },
  }
}

test('kill -9 after the message is stored and before it is handed to the relay: the next daemon sends it once', async () => {
  const held = await holdUp('message_queue', 'new.is_handing')
  const api = await start(['serve', '--no-jobs'])
  const call = post(api).catch(() => null)
  await held.reached()
  await api.kill('SIGKILL')
  await call
  await held.end()
  expect(await message()).toMatchObject({ status: 'pending', state: 'claimed' })
  await start()
  await sink.arrived(1)
  await eventually(async () => (await message()).status === 'sent')
  expect(sink.begun).toBe(1)
})

test('kill -9 while the relay has the message: it is failed with delivery state unknown, and is not sent again', async () => {
  sink.always({ hang: 'data' })
  const api = await start(['serve', '--no-jobs'])
  const call = post(api, { 'idempotency-key': 'k' }).catch(() => null)
  await eventually(() => sink.begun === 1)
  await api.kill('SIGKILL')
  await call
  expect(await message()).toMatchObject({ status: 'pending', state: 'handing' })
  sink.always({})
  const next = await start()
  await eventually(async () => (await message()).status === 'failed')
  const { id } = await message()
  expect(await post(next, { 'idempotency-key': 'k' })).toEqual({
    id,
    status: 'failed',
    error: 'delivery state unknown',
  })
  expect([sink.begun, sink.mails.length]).toEqual([1, 0])
})

test('kill -9 between the relay’s acceptance and its record: the message is failed, and is not sent again', async () => {
  const held = await holdUp('messages', `new.status = 'sent'`)
  const api = await start(['serve', '--no-jobs'])
  const call = post(api).catch(() => null)
  await held.reached()
  expect(sink.mails).toHaveLength(1)
  await api.kill('SIGKILL')
  await call
  await held.end()
  await start()
  await eventually(async () => (await message()).status === 'failed')
  expect(sink.mails).toHaveLength(1)
})

test('kill -9 before and during the hand-over of emails with copies and files: each recipient gets one, or its state is unknown', async () => {
  const files = [randomBytes(1_500_000), randomBytes(0), randomBytes(100)]
  const attachments = files.map((file, i) => ({ filename: `${i}.bin`, content: file.toString('base64') }))
  const send = async (daemon: Daemon, name: string, more: object = {}) => {
    const [to, cc, bcc] = ['to', 'cc', 'bcc'].map((kind) => `${name}-${kind}@people.example`)
    const body = freeform({ to, cc: [cc], bcc: [bcc], attachments, ...more })
    return (await callDaemon(daemon, 'POST', '/send', { key: account.key, body })).body
  }
  const soon = (ms: number) => ({ scheduledAt: t.app.now().getTime() + ms })
  const isIdle = async () => !(await tally()).pending
  const held = await holdUp('message_queue', 'new.is_handing')
  const api = await start(['serve', '--no-jobs'])
  expect(await send(api, 'later', soon(3000))).toMatchObject({ status: 'pending' })
  const call = send(api, 'now').catch(() => null)
  await held.reached()
  await api.kill('SIGKILL')
  await call
  await held.end()
  expect(sink.begun).toBe(0)

  const [one, two] = await Promise.all([start(), start()])
  await eventually(isIdle)
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

  await two!.kill('SIGKILL')
  sink.always({ hang: 'data' })
  expect(await send(one!, 'last', soon(3000))).toMatchObject({ status: 'pending' })
  await eventually(() => sink.begun === 8)
  await one!.kill('SIGKILL')
  sink.always({})
  await start()
  await eventually(isIdle)
  expect([sink.begun, sink.mails.length]).toEqual([9, 7])
  const ended = (await messagesOf(t.app, account.id)).filter(({ status }) => status === 'failed')
  expect(ended).toMatchObject(Array(2).fill({ error: 'delivery state unknown' }))
})

test('three times kill -9 under load: each message is sent at most once, and at most one per connection is in doubt', async () => {
  sink.always({ delayMs: 5 })
  await queueMany(t.app, account.id, 1500)
  for (let round = 1; round <= 3; round++) {
    const daemon = await start()
    await sink.arrived(sink.mails.length + 200)
    await daemon.kill('SIGKILL')
  }
  await start()
  await eventually(async () => !(await tally()).pending)
  const counts = await tally()
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(sink.mails.length)
  expect(counts.failed ?? 0).toBeLessThanOrEqual(3 * 5)
  expect(sink.mails.length).toBeGreaterThanOrEqual(counts.sent!)
  expect(counts.sent! + (counts.failed ?? 0)).toBe(1500)
})

test('SIGTERM under load: exit 0, messages in flight are recorded, the others are released, nothing is in doubt', async () => {
  sink.always({ delayMs: 100 })
  const daemon = await start()
  await queueMany(t.app, account.id, 300)
  await sink.arrived(20)
  expect(await daemon.stop()).toBe(0)
  expect(daemon.log()).not.toMatch(/job failed/)
  const rows = await messagesOf(t.app, account.id)
  expect(rows.filter(({ status }) => status === 'sent')).toHaveLength(sink.mails.length)
  expect(rows.filter(({ status, state }) => status === 'pending' && state !== 'queued')).toEqual([])
  await start()
  await eventually(async () => (await tally()).sent === 300)
  expect(sink.mails).toHaveLength(300)
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

test('two daemons that get calls with the same 50 keys send 50 emails', async () => {
  const both = await Promise.all([start(), start()])
  const keys = Array.from({ length: 50 }, (_, i) => `key-${i}`)
  // A busy machine answers 503 while a daemon's sender starts. Its sentence says that the call may be repeated.
  const repeated = async (daemon: Daemon, key: string) => {
    const call = () =>
      callDaemon(daemon, 'POST', '/send', { key: account.key, body: freeform(), headers: { 'idempotency-key': key } })
    let answer = await call()
    while (answer.status === 503) answer = await call()
    return answer.body
  }
  const answers = await Promise.all(both.flatMap((daemon) => keys.map((key) => repeated(daemon, key))))
  expect(new Set(answers.map(({ id }) => id)).size).toBe(50)
  await eventually(async () => (await tally()).sent === 50)
  expect(sink.mails).toHaveLength(50)
})

test('the mail thread loads neither MikroORM nor the HTTP server', async () => {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, '../..', path)).href)
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) })
    await import(${url('src/app/app.ts')})
    await import(${url('src/messages/outbox/outbox.ts')})
    process.stdout.write(JSON.stringify(loaded.filter((name) => /^@mikro-orm|^fastify|^commander|^bree/.test(name))))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(JSON.parse(stdout)).toEqual([])
})
