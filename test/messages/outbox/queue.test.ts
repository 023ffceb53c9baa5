import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { takeBatchCounts } from '../../../src/messages/messages.ts'
import { freeClaims } from '../../../src/messages/outbox/outbox.claim.ts'
import { runMail } from '../../../src/messages/outbox/outbox.run.ts'
import { findClaims } from '../../../src/queue/claims.ts'
import { setRelay } from '../../../src/senders/relays.ts'
import type { Sql } from '../../../src/store/database.ts'
import { suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { freePort } from '../../support/daemon.ts'
import { eventually } from '../../support/deliveries.ts'
import { settlesWithin } from '../../support/eventually.ts'
import { freeform, messagesOf, queueMany, sendingAccount, startMail, tallyMessages } from '../../support/messages.ts'
import { openRawRelay, openSink, type Sink } from '../../support/smtp.ts'

let t: TestApp
let sink: Sink
let account: TestAccount
const ends: (() => Promise<void>)[] = []

beforeAll(async () => {
  const port = await freePort()
  t = await startApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${port}` }, development: true })
})
beforeEach(async () => {
  sink = await openSink({ port: Number(new URL(t.env.SVC_SMTP_URL!).port) })
  account = await sendingAccount(t)
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await sink.close()
  await t.app.sql('delete from message_queue')
})
afterAll(() => t.close())

const start = async () => {
  const app = await openApp(readConfig(t.env))
  ends.push(app.close)
  const loop = startMail(app)
  ends.push(loop.stop)
  return loop
}
const tally = (accountId = account.id) => tallyMessages(t.app, accountId)
const ownSink = async (accountId: string): Promise<Sink> => {
  const own = await openSink()
  ends.unshift(own.close)
  await t.app.work(accountId, 'cli:test', (work) =>
    setRelay(t.app, work, { url: own.url, password: null, bounceAddress: null }),
  )
  return own
}

describe('messages that other features queue', () => {
  test('are sent once, after their transaction commits', async () => {
    await start()
    await queueMany(t.app, account.id, 120)
    await eventually(async () => (await tally()).sent === 120)
    expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(120)
    expect(sink.mails).toHaveLength(120)
  })

  test('are sent once for a key, however often and concurrently they are queued', async () => {
    const mail = { key: 'run:1:2', to: 'ada@people.example' }
    const made = await Promise.all(Array.from({ length: 10 }, () => queueMany(t.app, account.id, 2, mail)))
    expect(made.flat().filter(({ status }) => status === 'pending')).toHaveLength(1)
    expect(made.flat().filter(({ status }) => status === 'known')).toHaveLength(19)
    await start()
    await eventually(async () => (await tally()).sent === 1)
    expect([await tally(), sink.mails.length]).toEqual([{ sent: 1 }, 1])
  })

  test('to suppressed addresses, or without sender, quota or project, are listed with the reason', async () => {
    await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, ['person1@people.example'], 'manual'))
    await t.app.sql(`insert into plans select 'three sends', 9, null, 3, null, null, null, true`)
    await t.app.sql(`update accounts set plan = 'three sends' where id = $1`, [account.id])
    const statuses = (await queueMany(t.app, account.id, 5)).map(({ status }) => status)
    expect(statuses).toEqual(['pending', 'suppressed', 'pending', 'pending', 'failed'])
    const bare = await t.account()
    await queueMany(t.app, bare.id, 1)
    await queueMany(t.app, account.id, 1, { to: 'zoe@people.example', content: { projectId: 'prj_x', mergeData: {} } })
    expect((await messagesOf(t.app, bare.id))[0]).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('default sender'),
    })
    expect((await messagesOf(t.app, account.id)).map(({ reason, error }) => reason ?? error)).toEqual([
      null,
      'manual',
      null,
      null,
      'Monthly send quota for your plan exceeded',
      'There is no such project',
    ])
    await start()
    await eventually(async () => (await tally()).sent === 3)
    expect(await tally()).toEqual({ sent: 3, suppressed: 1, failed: 2 })
  })

  test('are not sent if their recipient is suppressed while they wait', async () => {
    await queueMany(t.app, account.id, 2, { type: 'marketing' })
    await t.app.work(account.id, 'cli:test', (work) =>
      suppressAddresses(work, ['person0@people.example'], 'unsubscribed'),
    )
    await start()
    await eventually(async () => (await tally()).sent === 1)
    expect((await messagesOf(t.app, account.id))[0]).toMatchObject({
      status: 'suppressed',
      reason: 'unsubscribed',
      state: null,
    })
    expect(sink.mails).toHaveLength(1)
  })
})

describe('a relay that is unavailable, defers or refuses', () => {
  test('waiting messages are retried, and sent when the relay is back', async () => {
    await sink.close()
    await start()
    await queueMany(t.app, account.id, 3)
    await eventually(async () => (await t.app.sql('select 1 from message_queue where tries > 0')).length > 0)
    sink = await openSink({ port: sink.port })
    await t.advance(30_000)
    await sink.arrived(3)
    expect(sink.mails).toHaveLength(3)
    // The time of sending, not of creation: receivers distrust delayed emails with an old Date.
    const [made] = await t.app.sql<{ at: number }>(
      'select (extract(epoch from max(created_at)) * 1000)::float8 as at from messages where account_id = $1',
      [account.id],
    )
    for (const mail of sink.mails) expect(Date.parse(mail.header('date')!)).toBeGreaterThan(made!.at + 25_000)
    await eventually(async () => (await tally()).sent === 3)
  })

  test('a 4xx reply is retried, a 5xx reply is final', async () => {
    sink.next({ refuse: { at: 'to', answer: '451 4.7.1 Greylisted' } })
    await start()
    await queueMany(t.app, account.id, 1)
    await eventually(async () => (await t.app.sql('select 1 from message_queue where tries = 1')).length > 0)
    expect(sink.mails).toEqual([])
    sink.always({ refuse: { at: 'data', answer: '554 5.7.1 No' } })
    await t.advance(30_000)
    await eventually(async () => (await tally()).failed === 1)
    expect((await messagesOf(t.app, account.id))[0]!.error).toBe('The relay refused the message: 554 5.7.1 No')
  })

  test('a hanging relay delays only its own messages, and so does a relay with a thousand waiting ones', async () => {
    const [hanging, busy] = [await sendingAccount(t), await sendingAccount(t)]
    const [hung, slow] = [await ownSink(hanging.id), await ownSink(busy.id)]
    hung.always({ hang: 'connect' })
    slow.always({ delayMs: 500 })
    await queueMany(t.app, hanging.id, 500)
    await queueMany(t.app, busy.id, 1000)
    await start()
    await slow.arrived(5)
    await queueMany(t.app, account.id, 100)
    await sink.arrived(100)
    expect(await tally(hanging.id)).toEqual({ pending: 500 })
    expect(hung.open).toBeLessThanOrEqual(5)
  })

  test('large messages that a relay answers late delay no small one: at most two are in flight', async () => {
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ largeUntil: promise })
    const content = Buffer.alloc(1_100_000).toString('base64')
    const bcc = Array.from({ length: 5 }, (_, i) => `p${i}@people.example`)
    const body = freeform({
      bcc,
      attachments: [{ filename: 'a', content }],
      scheduledAt: t.app.now().getTime() + 60_000,
    })
    expect((await t.request('POST', '/send', { key: account.key, body })).body.status).toBe('pending')
    await t.advance(60_000)
    await start()
    await eventually(() => sink.begun === 2)
    // A relay that answers nothing for 3 s is stalled.
    await sleep(3200)
    await queueMany(t.app, account.id, 80)
    await sink.arrived(80)
    expect([sink.begun, sink.mails.filter(({ raw }) => raw.length > 1_000_000).length]).toEqual([82, 0])
    answer()
    await eventually(async () => (await tally()).sent === 86)
  })

  test('on a shared relay, an account’s thousand waiting messages do not delay another account’s', async () => {
    sink.always({ delayMs: 20 })
    await queueMany(t.app, account.id, 1000)
    await start()
    await sink.arrived(100)
    const other = await sendingAccount(t)
    await queueMany(t.app, other.id, 5)
    await eventually(async () => (await tally(other.id)).sent === 5)
    expect((await tally()).pending).toBeGreaterThan(300)
  })
})

test('nothing is sent once the deletion of the account has begun', async () => {
  await queueMany(t.app, account.id, 20)
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [account.id])
  const other = await sendingAccount(t)
  await queueMany(t.app, other.id, 3)
  await start()
  await eventually(async () => (await tally(other.id)).sent === 3)
  expect(sink.mails).toHaveLength(3)
  await t.app.sql('delete from message_queue where account_id = $1', [account.id])
})

test('two loops share the queue: each message is sent once', async () => {
  sink.always({ delayMs: 5 })
  await Promise.all([start(), start()])
  for (let i = 0; i < 4; i++) await queueMany(t.app, account.id, 100)
  await eventually(async () => (await tally()).sent === 400)
  expect(sink.mails).toHaveLength(400)
})

test('messages announced during a claim are claimed by the next one', async () => {
  let claims = 0
  const sql = (async (...[query, params]: Parameters<Sql>) => {
    const rows = await t.app.sql(query, params)
    if (typeof query === 'string' || query.name !== 'claim-messages' || rows.length === 0 || ++claims > 1) return rows
    await queueMany(t.app, account.id, 1)
    await sleep(200)
    return rows
  }) as typeof t.app.sql
  const stop = new AbortController()
  const running = runMail({ ...t.app, sql }, stop.signal)
  ends.push(async () => {
    stop.abort()
    await running
  })
  await sleep(300)
  await queueMany(t.app, account.id, 1)
  // The next search without a notice would be much later.
  expect(await settlesWithin(sink.arrived(2), 3000)).toBe(true)
  expect(claims).toBeGreaterThan(0)
})

test('a locked row delays no other message', async () => {
  await queueMany(t.app, account.id, 20)
  const locker = await t.app.database.connect()
  await locker.query('begin')
  await locker.query('select 1 from message_queue order by id limit 1 for update')
  await locker.query('select 1 from messages where account_id = $1 order by id offset 1 limit 1 for update', [
    account.id,
  ])
  await start()
  await eventually(async () => (await tally()).sent === 18)
  await locker.query('rollback')
  await locker.end()
  await eventually(async () => (await tally()).sent === 20)
  expect(sink.mails).toHaveLength(20)
})

test('an unexpected error (a password that can’t be opened) is reported, loses no message and delays no other', async () => {
  const broken = await sendingAccount(t)
  await t.app.work(broken.id, 'cli:test', (work) =>
    setRelay(t.app, work, { url: 'smtp://me@127.0.0.1:1', password: 'x', bounceAddress: null }),
  )
  await t.app.sql(`update relays set sealed_password = 'v1.broken' where account_id = $1`, [broken.id])
  await queueMany(t.app, broken.id, 1)
  await queueMany(t.app, account.id, 1)
  const app = await openApp(readConfig(t.env))
  const reported: unknown[] = []
  const stop = new AbortController()
  const running = runMail(app, stop.signal, (fault) => reported.push(fault))
  await sink.arrived(1)
  await eventually(() => reported.length === 1)
  await eventually(async () => (await messagesOf(t.app, broken.id))[0]!.state === 'queued')
  stop.abort()
  await running
  await app.close()
})

test('a stop finishes messages in flight and releases the others at once', async () => {
  sink.always({ delayMs: 300 })
  const loop = await start()
  await queueMany(t.app, account.id, 300)
  await sink.arrived(12)
  await loop.stop()
  const states = await messagesOf(t.app, account.id)
  expect(states.filter(({ status }) => status === 'sent')).toHaveLength(sink.mails.length)
  expect(states.filter(({ status, state }) => status === 'pending' && state !== 'queued')).toEqual([])
  expect((await tally()).failed).toBeUndefined()
})

test('a message whose conversation a stop cuts off ends with an unknown state', async () => {
  sink.always({ hang: 'data' })
  const loop = await start()
  await queueMany(t.app, account.id, 3)
  await eventually(() => sink.begun === 3)
  await loop.stop()
  expect((await messagesOf(t.app, account.id)).map(({ status, error }) => [status, error])).toEqual(
    Array.from({ length: 3 }, () => ['failed', 'delivery state unknown']),
  )
})

describe('isolation of messages', () => {
  test('400 messages of an account that is being deleted delay no other account on the relay', async () => {
    await queueMany(t.app, account.id, 400)
    await t.app.sql('update accounts set deleted_at = now() where id = $1', [account.id])
    const other = await sendingAccount(t)
    await start()
    await queueMany(t.app, other.id, 100)
    await eventually(async () => (await tally(other.id)).sent === 100)
    expect(sink.mails).toHaveLength(100)
  })

  test('messages that were claimed before the deletion of their account began delay no other account', async () => {
    sink.always({ delayMs: 200 })
    await queueMany(t.app, account.id, 400)
    await start()
    await sink.arrived(5)
    await t.app.sql('update accounts set deleted_at = now() where id = $1', [account.id])
    const other = await sendingAccount(t)
    await queueMany(t.app, other.id, 50)
    await eventually(async () => (await tally(other.id)).sent === 50)
    expect((await tally()).sent).toBeLessThan(100)
  })

  test('a bounce whose address is locked delays no other result, and the address is suppressed later', async () => {
    const email = 'person0@people.example'
    const suppressed = async () =>
      (await t.app.sql('select from suppressions where account_id = $1', [account.id])).length
    await t.app.sql(
      `insert into suppressions (account_id, email, reason, created_at) values ($1, $2, 'unsubscribed', now())`,
      [account.id, email],
    )
    const locker = await t.app.database.connect()
    await locker.query('begin')
    await locker.query(
      `insert into suppressions (account_id, email, reason, created_at) values ('${account.id}', '${email}', 'bounced', now())`,
    )
    sink.next({ refuse: { at: 'to', answer: '550 5.1.1 No such user' } })
    await queueMany(t.app, account.id, 1)
    await start()
    await eventually(async () => (await tally()).failed === 1)
    const other = await sendingAccount(t)
    await queueMany(t.app, other.id, 50)
    const sent = eventually(async () => (await tally(other.id)).sent === 50)
    expect(await settlesWithin(sent, 4500)).toBe(true)
    expect(await suppressed()).toBe(1)
    await locker.query('rollback')
    await locker.end()
    await eventually(async () => (await suppressed()) === 2)
    expect(await t.app.sql('select from pending_suppressions')).toEqual([])
  })

  test('if a process dies between a bounce and the suppression, another one suppresses the address', async () => {
    await queueMany(t.app, account.id, 1)
    await t.app.sql('delete from message_queue where account_id = $1', [account.id])
    await t.app.sql(
      `insert into pending_suppressions (account_id, message_id) select account_id, id from messages where account_id = $1`,
      [account.id],
    )
    await start()
    await eventually(
      async () =>
        (await t.app.sql(`select from suppressions where account_id = $1 and reason = 'bounced'`, [account.id]))
          .length === 1,
    )
    expect(await t.app.sql('select from pending_suppressions')).toEqual([])
  })

  test.each([
    ['NUL and other control characters', Buffer.from('550 5.7.1 No\0pe \u0007bell\u2028'), '550 5.7.1 No pe bell'],
    ['half a surrogate pair', Buffer.from('550 5.7.1 \xed\xa0\x80 half', 'latin1'), expect.stringContaining('half')],
    [
      'a surrogate pair where the reply is cut',
      Buffer.from(`550 5.7.1 ${'x'.repeat(489)}😀`),
      `550 5.7.1 ${'x'.repeat(489)}`,
    ],
    [
      '100 KB in one line',
      Buffer.from(`550 5.7.1 ${'long '.repeat(20_000)}`),
      `550 5.7.1 ${'long '.repeat(98)}`.trim(),
    ],
  ])('a reply with %s is recorded, and delays no other message', async (_, answer, recorded) => {
    const strange = await sendingAccount(t)
    const relay = await openRawRelay(answer)
    ends.unshift(relay.close)
    await t.app.work(strange.id, 'cli:test', (work) =>
      setRelay(t.app, work, { url: relay.url, password: null, bounceAddress: null }),
    )
    await queueMany(t.app, strange.id, 35)
    await start()
    await queueMany(t.app, account.id, 35)
    await eventually(async () => (await tally()).sent === 35)
    await eventually(async () => (await tally(strange.id)).failed === 35)
    for (const { error } of await messagesOf(t.app, strange.id)) {
      expect(error!.replace('The relay refused the message: ', '')).toEqual(recorded)
    }
  })

  test('a result that the database refuses is replaced by a fixed error, reported once, and delays no other message', async () => {
    await t.app.sql(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'refused'; end $$`)
    await t.app.sql(
      `create trigger refuse before update on messages for each row
       when (new.status = 'sent' and new.email = 'person3@people.example') execute function refuse()`,
    )
    await queueMany(t.app, account.id, 40)
    const app = await openApp(readConfig(t.env))
    const reported: unknown[] = []
    const stop = new AbortController()
    const running = runMail(app, stop.signal, (fault) => reported.push(fault))
    await eventually(async () => !(await tally()).pending)
    expect(await tally()).toEqual({ sent: 39, failed: 1 })
    const failed = (await messagesOf(t.app, account.id)).find(({ status }) => status === 'failed')
    expect(failed!.error).toBe('The result could not be recorded')
    expect(reported).toHaveLength(1)
    stop.abort()
    await running
    await app.close()
    await t.app.sql('drop function refuse cascade')
  })
})

describe('a worker that was presumed dead while it had messages on connections', () => {
  /** Frees the claims of the workers, like another process that presumes them dead. */
  const takeForDead = async () => {
    const workers = await t.app.sql<{ id: number }>(`select id from workers where job = 'mail'`)
    const claims = await findClaims(
      t.app.database,
      'message_queue',
      workers.map(({ id }) => id),
      null,
    )
    await freeClaims(t.app, claims)
  }

  test('the relay’s reply replaces `delivery state unknown`, also in the counters of the batch', async () => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ until })
    sink.next({ until, refuse: { at: 'data', answer: '554 5.7.1 Spam' } })
    await queueMany(t.app, account.id, 5, {}, { id: 'brd_late', isHeld: false })
    await start()
    await eventually(() => sink.begun === 5)
    const before = sink.mails.length
    await takeForDead()
    expect([before, await tally()]).toEqual([0, { failed: 5 }])
    answer()
    await eventually(async () => (await tally()).sent === 4)
    const failed = (await messagesOf(t.app, account.id)).find(({ status }) => status === 'failed')
    expect(failed!.error).toBe('The relay refused the message: 554 5.7.1 Spam')
    const tallied = await t.app.work(account.id, 'cli:test', (work) => takeBatchCounts(work, 'brd_late'))
    expect(tallied).toEqual({ sent: 4, failed: 1, suppressed: 0 })
    expect(sink.mails).toHaveLength(4)
  })

  test('a message that was erased in the meantime is unchanged', async () => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ until })
    await queueMany(t.app, account.id, 1)
    const loop = await start()
    await eventually(() => sink.begun === 1)
    await t.app.sql(`update messages set status = 'failed', error = 'The contact was erased' where account_id = $1`, [
      account.id,
    ])
    await t.app.sql('delete from message_queue where account_id = $1', [account.id])
    answer()
    await sink.arrived(1)
    await loop.stop()
    expect((await messagesOf(t.app, account.id))[0]!.error).toBe('The contact was erased')
  })
})
