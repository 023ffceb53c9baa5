import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { takeStep } from '../../src/broadcasts/broadcasts.step.ts'
import {
  cancelBroadcast,
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  sendBroadcast,
  showBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { queueMails } from '../../src/messages/messages.ts'
import { holdQueues, releaseQueues } from '../../src/queue/holds.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok, startApp, type TestApp } from '../support/app.ts'
import { type Audience, addPeople, audience } from '../support/broadcasts.ts'
import { freePort } from '../support/daemon.ts'
import { untilLocked } from '../support/database.ts'
import { eventually } from '../support/deliveries.ts'
import { holdUp } from '../support/hold.ts'
import { startMail, tallyMessages } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let sink: Sink
const ends: (() => Promise<void>)[] = []

beforeAll(async () => {
  const port = await freePort()
  t = await startApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${port}` }, development: true })
  sink = await openSink({ port })
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await t.app.sql('delete from message_queue')
  await t.app.sql(`update broadcasts set finished_at = now() where finished_at is null`)
  sink.always({})
  sink.mails.length = 0
})
afterAll(async () => {
  await t.close()
  await sink.close()
})

const draft = ({ account }: Audience, more: object = {}) =>
  t.app.work(account.id, 'cli:test', (work) =>
    createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring', ...more })),
  )
/** Creates a draft and sends it. */
const create = ({ account }: Audience, more: object = {}) =>
  t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring', ...more }))
    return sendBroadcast(t.app, work, id)
  })
const sendDraft = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => sendBroadcast(t.app, work, id))
const show = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => showBroadcast(work, id))
const cancel = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => cancelBroadcast(work, id))
const step = ({ account }: Audience, id: string) => takeStep(t.app, account.id, 'cli:test', id)
const steps = async (who: Audience, id: string) => {
  while ((await step(who, id))?.isMore);
}
const used = async ({ account }: Audience) => {
  const [row] = await t.app.sql<{ used: number }>(
    `select used from quota_uses where account_id = $1 and quota = 'sends'`,
    [account.id],
  )
  return row?.used ?? 0
}
/** Runs the broadcasts loop in this process. */
const startLoop = () => {
  const stop = new AbortController()
  const running = runBroadcasts(t.app, stop.signal, (fault) => {
    throw fault
  })
  ends.push(async () => {
    stop.abort()
    await running
  })
}
/** Runs the mail loop in a separate app, as in its job's thread: a stop closes its connections to relays. */
const send = async () => {
  const app = await openApp(readConfig(t.env))
  ends.push(app.close, startMail(app).stop)
}
const isDone = (who: Audience, id: string) => async () => (await show(who, id)).status === 'done'

test('while sends are paused a broadcast takes no step, and can be cancelled; resumed, it is sent once', async () => {
  const [kept, cancelled] = [await audience(t, 3), await audience(t, 3)]
  const [{ id }, other] = [await create(kept), await create(cancelled)]
  await step(cancelled, other.id)
  await holdQueues(t.app.sql, ['sends'])
  await cancel(cancelled, other.id)
  try {
    startLoop()
    await send()
    // The loop looks for all broadcasts at once: it has seen both when it has ended the cancelled one.
    await eventually(async () => (await tallyMessages(t.app, cancelled.account.id)).failed === 3)
    await eventually(async () => (await used(cancelled)) === 0)
    expect(await show(kept, id)).toMatchObject({ status: 'scheduled', queued: 0 })
  } finally {
    await releaseQueues(t.app.sql, ['sends'])
  }
  await eventually(isDone(kept, id))
  expect(sink.mails.flatMap(({ to }) => to).toSorted()).toEqual(
    ['c0', 'c1', 'c2'].map((name) => `${name}@people.example`),
  )
})

test('every active contact of the list gets one marketing email with its own fields', async () => {
  const who = await audience(t, 503)
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email = 'c5@people.example'`, [
    who.account.id,
  ])
  const { id, ...made } = await create(who, { subject: 'For {{ name }} <{{ email }}>' })
  expect(id).toMatch(/^bct_/)
  expect(made).toEqual({
    ...{
      name: 'Spring',
      status: 'scheduled',
      listId: who.listId,
      projectId: who.projectId,
      scheduledAt: null,
      recipients: 502,
    },
    ...{ queued: 0, sent: 0, failed: 0, suppressed: 0, createdAt: expect.any(Number), startedAt: null, endedAt: null },
    ...{ projectVersion: 1, subject: 'For {{ name }} <{{ email }}>', rate: null, replyTo: null },
    from: { email: 'hello@shop.example', name: 'The Shop' },
  })
  startLoop()
  await send()
  await eventually(isDone(who, id))
  expect(await show(who, id)).toMatchObject({ status: 'done', recipients: 502, queued: 0, sent: 502, failed: 0 })
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(502)
  expect(sink.mails).toHaveLength(502)
  const mail = sink.mails.find(({ to }) => to[0] === 'c7@people.example')!
  expect(mail.header('subject')).toBe('For N7 <c7@people.example>')
  expect(mail.header('list-unsubscribe')).toBeDefined()
  expect(mail.raw).toContain('Hello N7')
  const rows = await t.app.sql(
    `select distinct type, source_kind, source_id, merge_data ->> 'email' = email as data from messages where account_id = $1`,
    [who.account.id],
  )
  expect(rows).toEqual([{ type: 'marketing', source_kind: 'send', source_id: null, data: true }])
  expect(await used(who)).toBe(502)
  expect(await t.app.sql('select from message_tallies where account_id = $1', [who.account.id])).toEqual([])
})

test('suppressed contacts are counted, get no email and use no quota, also if they are suppressed during the sending', async () => {
  const who = await audience(t, 10)
  const suppress = (emails: string[]) =>
    t.app.work(who.account.id, 'cli:test', (work) => suppressAddresses(work, emails, 'unsubscribed'))
  await suppress(['c1@people.example', 'c2@people.example', 'stranger@people.example'])
  const { id: planned } = await draft(who, { subject: 'For {{ name }}' })
  const plan = await t.app.work(who.account.id, 'cli:test', (work) => planBroadcast(t.app, work, planned))
  expect(plan).toMatchObject({ recipients: 10, mails: 8, suppressed: 2, subject: 'For {{ name }}', listName: 'People' })
  expect(await show(who, planned)).toMatchObject({ status: 'draft', recipients: 10, queued: 0 })
  const { id } = await create(who)
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ status: 'sending', recipients: 10, queued: 8, suppressed: 2, sent: 0 })
  expect(await used(who)).toBe(8)
  await suppress(['c3@people.example'])
  startLoop()
  await send()
  await eventually(isDone(who, id))
  expect(await show(who, id)).toMatchObject({ recipients: 10, queued: 0, sent: 7, suppressed: 3, failed: 0 })
  expect(sink.mails).toHaveLength(7)
})

test('the recipients are the contacts of the list at the beginning of sending', async () => {
  const who = await audience(t, 600)
  const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
  const { id, ...made } = await create(who, { at })
  expect(made).toMatchObject({ status: 'scheduled', scheduledAt: Date.parse(at), recipients: 600 })
  expect(await step(who, id)).toBeNull()
  startLoop()
  await addPeople(t, who, 600, 700)
  // By the time that it queues another broadcast, the loop has looked at this one.
  const other = await audience(t, 1)
  const { id: sooner } = await create(other)
  await eventually(async () => (await show(other, sooner)).queued === 1)
  expect((await show(who, id)).status).toBe('scheduled')
  for (const end of ends.splice(0)) await end()
  await t.advance(3_600_000)
  await step(who, id)
  await t.advance(20)
  await addPeople(t, who, 700, 800)
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ status: 'sending', recipients: 700, queued: 700 })
})

test('a broadcast whose list was deleted before it begins is cancelled and sends nothing', async () => {
  const who = await audience(t, 3)
  const { id } = await create(who, { at: new Date(t.app.now().getTime() + 3_600_000).toISOString() })
  await deleteList(t.app, who.account.id, who.listId, { actor: 'cli:test' })
  expect(await show(who, id)).toMatchObject({ status: 'scheduled', recipients: 3 })
  await t.advance(3_600_000)
  expect(await step(who, id)).toEqual({ isMore: false, waitMs: null })
  expect(await show(who, id)).toMatchObject({ status: 'cancelled', recipients: 0, queued: 0, sent: 0, failed: 0 })
  expect(await step(who, id)).toBeNull()
  expect(await used(who)).toBe(0)
})

describe('a draft', () => {
  test('sends nothing, even after its time; once it is sent, it begins at once if its time has passed', async () => {
    const who = await audience(t, 3)
    const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
    const [now, later, late] = [await draft(who), await draft(who, { at }), await draft(who, { at, name: 'Late' })]
    expect(now).toMatchObject({ name: 'Spring', status: 'draft', scheduledAt: null, recipients: 3 })
    expect(await sendDraft(who, later.id)).toMatchObject({ status: 'scheduled', scheduledAt: Date.parse(at) })
    startLoop()
    await send()
    for (const { id } of [now, later, late]) expect(await step(who, id)).toBeNull()
    await t.advance(3_700_000)
    await eventually(isDone(who, later.id))
    expect(await step(who, late.id)).toBeNull()
    expect(await show(who, now.id)).toMatchObject({ status: 'draft', queued: 0 })
    expect(sink.mails).toHaveLength(3)
    const both = await Promise.allSettled([sendDraft(who, late.id), sendDraft(who, late.id)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await eventually(isDone(who, late.id))
    expect(await show(who, late.id)).toMatchObject({ name: 'Late', sent: 3 })
    expect(sink.mails).toHaveLength(6)
    await expect(sendDraft(who, late.id)).rejects.toMatchObject({ kind: 'conflict' })
  })

  test('can be cancelled, and then not sent; contacts that join the list before it is sent are recipients', async () => {
    const who = await audience(t, 2)
    const [gone, kept] = [await draft(who), await draft(who)]
    expect(await cancel(who, gone.id)).toMatchObject({ status: 'cancelled', queued: 0, failed: 0 })
    await expect(sendDraft(who, gone.id)).rejects.toMatchObject({ kind: 'conflict' })
    await addPeople(t, who, 2, 5)
    expect(await sendDraft(who, kept.id)).toMatchObject({ status: 'scheduled', recipients: 5 })
    await steps(who, kept.id)
    expect(await show(who, kept.id)).toMatchObject({ queued: 5 })
    await expect(sendDraft(await audience(t, 0), kept.id)).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('uses no quota and needs no sender; sending without either is refused, and it stays a draft', async () => {
    await t.app.sql(`insert into plans select 'five', 9, null, 5, null, null, null, true on conflict do nothing`)
    const who = await audience(t, 7, 'five')
    const { id } = await draft(who)
    await expect(sendDraft(who, id)).rejects.toMatchObject({ kind: 'conflict' })
    await t.app.sql('delete from senders where account_id = $1', [who.account.id])
    await expect(sendDraft(who, id)).rejects.toMatchObject({ kind: 'invalid' })
    expect((await show(who, id)).status).toBe('draft')
    expect(await used(who)).toBe(0)
  })
})

describe('refusals', () => {
  test('more messages than the monthly quota has left, with both numbers; suppressed ones do not count', async () => {
    await t.app.sql(`insert into plans select 'five', 9, null, 5, null, null, null, true on conflict do nothing`)
    const who = await audience(t, 7, 'five')
    await expect(create(who)).rejects.toMatchObject({
      kind: 'conflict',
      message: 'The broadcast has 7 recipients, and the month’s send volume has 5 left',
    })
    await t.app.work(who.account.id, 'cli:test', (work) =>
      suppressAddresses(work, ['c1@people.example', 'c2@people.example'], 'manual'),
    )
    const { id } = await create(who)
    await steps(who, id)
    expect(await show(who, id)).toMatchObject({ queued: 5, suppressed: 2, failed: 0 })
    // The quota of this month is used up, that of the next month is not.
    await expect(create(who)).rejects.toMatchObject({ kind: 'conflict' })
    const now = t.app.now()
    const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2)).toISOString()
    expect((await create(who, { at: next })).status).toBe('scheduled')
  })

  test('messages beyond the quota at the time of queueing fail with the reason', async () => {
    await t.app.sql(`insert into plans select 'five', 9, null, 5, null, null, null, true on conflict do nothing`)
    const who = await audience(t, 4, 'five')
    const [first, second] = [await create(who), await create(who)]
    await steps(who, first.id)
    await steps(who, second.id)
    expect(await show(who, second.id)).toMatchObject({ queued: 1, failed: 3 })
    expect(await used(who)).toBe(5)
  })

  test('no sender, a past time, an invalid rate, a list or project of another account', async () => {
    const who = await audience(t, 1)
    const stranger = await audience(t, 1)
    const at = new Date(t.app.now().getTime() - 1000).toISOString()
    await expect(create(who, { at })).rejects.toMatchObject({ kind: 'invalid' })
    expect(() => NewBroadcast.parse({ list: 'People', project: 'Spring', at: 'soon' })).toThrow()
    for (const rate of ['0', '1.5', 'fast', '-1'])
      expect(() => NewBroadcast.parse({ list: 'People', project: 'Spring', rate })).toThrow()
    await expect(create(who, { list: stranger.listId })).rejects.toMatchObject({ kind: 'not_found' })
    await expect(create(who, { project: stranger.projectId })).rejects.toMatchObject({ kind: 'not_found' })
    const { id } = await create(who)
    await expect(show(stranger, id)).rejects.toMatchObject({ kind: 'not_found' })
    await expect(cancel(stranger, id)).rejects.toMatchObject({ kind: 'not_found' })
    expect(await step(stranger, id)).toBeNull()
    await t.app.sql('delete from senders where account_id = $1', [who.account.id])
    await expect(create(who)).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('cancel', () => {
  test('stops unsent messages, returns their quota, and ends them as failed', async () => {
    const who = await audience(t, 1300)
    sink.always({ delayMs: 50 })
    const { id } = await create(who)
    await steps(who, id)
    await send()
    await sink.arrived(10)
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ until })
    const cancelled = await cancel(who, id)
    expect(cancelled.status).toBe('cancelled')
    answer()
    await steps(who, id)
    await eventually(async () => {
      await steps(who, id)
      return (await show(who, id)).queued === 0
    })
    const { sent, failed, recipients } = await show(who, id)
    expect([sent + failed, recipients, sent === sink.mails.length, sent < 100]).toEqual([1300, 1300, true, true])
    expect(await used(who)).toBe(sent)
    expect(await tallyMessages(t.app, who.account.id)).toEqual({ sent, failed })
    const errors = await t.app.sql(`select distinct error from messages where account_id = $1 and status = 'failed'`, [
      who.account.id,
    ])
    expect(errors).toEqual([{ error: 'cancelled' }])
    const before = sink.mails.length
    for (const end of ends.splice(0).reverse()) await end()
    expect(sink.mails).toHaveLength(before)
    expect((await cancel(who, id)).status).toBe('cancelled')
  })

  test('before the beginning stops everything; after the end it is refused', async () => {
    const who = await audience(t, 3)
    const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
    const later = await create(who, { at })
    expect(await cancel(who, later.id)).toMatchObject({ status: 'cancelled', recipients: 3, queued: 0, failed: 0 })
    await t.advance(3_600_000)
    startLoop()
    await send()
    const { id } = await create(who)
    await eventually(isDone(who, id))
    expect(sink.mails).toHaveLength(3)
    await expect(cancel(who, id)).rejects.toMatchObject({ kind: 'conflict' })
  })

  test('during queueing ends the queued messages and queues no more; if the process is killed, a job continues', async () => {
    const who = await audience(t, 1200)
    const { id } = await create(who)
    await step(who, id)
    await cancel(who, id)
    expect(await t.app.sql('select from message_queue where account_id = $1', [who.account.id])).toEqual([])
    startLoop()
    await eventually(async () => (await show(who, id)).failed === 500)
    expect(await show(who, id)).toMatchObject({ status: 'cancelled', queued: 0, sent: 0, recipients: 1200 })
    expect(await used(who)).toBe(0)
  })

  test('a message that a relay defers after the cancellation is not sent again', async () => {
    const who = await audience(t, 3)
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ until, refuse: { at: 'data', answer: '451 4.7.1 Later' } })
    const { id } = await create(who)
    await steps(who, id)
    await send()
    await eventually(async () => (await t.app.sql('select from message_queue where is_handing')).length === 3)
    await cancel(who, id)
    startLoop()
    answer()
    await eventually(async () => (await show(who, id)).failed === 3)
    expect(await used(who)).toBe(0)
    expect(await t.app.sql('select from message_queue where account_id = $1', [who.account.id])).toEqual([])
  })
})

test('a contact that is erased while its message waits gets none: it counts as failed, before and after a cancellation', async () => {
  const who = await audience(t, 4)
  const erase = (email: string) =>
    t.app.work(who.account.id, 'cli:test', (work) => eraseContact(work, email, { dryRun: false }))
  const [sent, stopped] = [await create(who), await create(who)]
  await steps(who, sent.id)
  await steps(who, stopped.id)
  await erase('c1@people.example')
  expect(await show(who, sent.id)).toMatchObject({ recipients: 4, queued: 3, failed: 1 })
  await cancel(who, stopped.id)
  await erase('c2@people.example')
  startLoop()
  await send()
  await eventually(isDone(who, sent.id))
  await eventually(async () => (await show(who, stopped.id)).queued === 0)
  expect(await show(who, sent.id)).toMatchObject({ queued: 0, sent: 2, failed: 2 })
  expect(await show(who, stopped.id)).toMatchObject({ status: 'cancelled', queued: 0, sent: 0, failed: 4 })
  expect(sink.mails).toHaveLength(2)
})

test('--rate is messages per minute, whichever process takes the steps, and missed time is not caught up', async () => {
  const who = await audience(t, 700)
  const { id } = await create(who, { rate: 12 })
  await steps(who, id)
  const released = async () => {
    const rows = await t.app.sql(`select from message_queue where account_id = $1 and due_at < '9999-01-01'`, [
      who.account.id,
    ])
    return rows.length
  }
  expect([await released(), (await show(who, id)).queued]).toEqual([1, 700])
  await t.advance(5000)
  await step(who, id)
  await step(who, id)
  expect(await released()).toBe(2)
  await t.advance(3_600_000)
  await step(who, id)
  expect(await released()).toBe(3)
  // The relay accepts nothing, so at most the messages of one minute wait for it.
  for (let i = 0; i < 15; i++) {
    await t.advance(5000)
    await step(who, id)
  }
  expect(await released()).toBe(12)
})

test('a broadcast with a rate is sent at that rate, and each message once', async () => {
  const who = await audience(t, 12)
  startLoop()
  await send()
  const before = performance.now()
  const { id } = await create(who, { rate: 240 })
  await eventually(isDone(who, id))
  expect(performance.now() - before).toBeGreaterThan(2500)
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(12)
})

test('a single message never waits for a broadcast of its account', async () => {
  const who = await audience(t, 1500)
  sink.always({ delayMs: 50 })
  const { id } = await create(who)
  await steps(who, id)
  await send()
  await sink.arrived(40)
  await t.app.work(who.account.id, 'cli:test', (work) =>
    queueMails(t.app, work, [
      {
        ...{ to: 'ada@people.example', type: 'transactional', key: null, source: { kind: 'lifecycle', id: null } },
        ...{ subject: 'Now', content: { html: '<p>Now</p>', text: 'Now' } },
      },
    ]),
  )
  const before = sink.mails.length
  await eventually(async () => sink.mails.some(({ to }) => to[0] === 'ada@people.example'))
  const at = sink.mails.findIndex(({ to }) => to[0] === 'ada@people.example')
  // Only messages in flight, and those sent while it is claimed, are sent before it: few of the 1,500.
  expect(at - before).toBeLessThan(500)
  expect((await show(who, id)).queued).toBeGreaterThan(500)
})

test('two loops and the command queue each message once when they run concurrently', async () => {
  const who = await audience(t, 2600)
  const { id } = await create(who)
  startLoop()
  startLoop()
  await eventually(async () => (await show(who, id)).queued === 2600)
  const [row] = await t.app.sql(
    'select count(*) as count, count(distinct email) as people from messages where account_id = $1',
    [who.account.id],
  )
  expect(row).toEqual({ count: 2600, people: 2600 })
})

test.each([
  ['decided', 'insert on broadcast_recipients'],
  ['queued', 'update on broadcasts'],
])('while its recipients are %s, no writer of the same contacts waits', async (_, change) => {
  const who = await audience(t, 600)
  const { id } = await create(who, { where: 'email is not empty' })
  const hold = await holdUp(t, change)
  const held = step(who, id)
  await hold.reached()
  const { key } = who.account
  const add = (email: string) =>
    ok(t.request('POST', '/contacts', { key, body: { listId: who.listId, email, fields: { name: 'New' } } }))
  await add('c1@people.example')
  await add('somebody@people.example')
  await ok(t.request('DELETE', `/lists/${who.listId}/contacts/c2@people.example`, { key }))
  expect((await ok(t.request('POST', '/erasures', { key, body: { email: 'c3@people.example' } }))).body).toEqual({
    erased: true,
  })
  await hold.end()
  // The step lost its session, and was repeated after these writes.
  await held
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ recipients: 599, queued: 599 })
})

describe('an erasure while its recipients are queued', () => {
  const erase = ({ account }: Audience, email: string) =>
    t.app.work(account.id, 'cli:test', (work) => eraseContact(work, email, { dryRun: false }))
  const addressees = async ({ account }: Audience) => {
    const rows = await t.app.sql<{ email: string; isQueued: boolean }>(
      `select email, exists (select from message_queue q where q.account_id = m.account_id and q.id = m.id) as "isQueued"
       from messages m where account_id = $1 order by email`,
      [account.id],
    )
    return rows.map(({ email, isQueued }) => [email, isQueued])
  }
  const others = [
    ['c0@people.example', true],
    ['c2@people.example', true],
  ]

  test.each([
    ['of a list', {}],
    ['of a filter', { where: 'email is not empty' }],
  ])('commits: the person gets no email and is in no record (%s)', async (_, more) => {
    const who = await audience(t, 3)
    const { id } = await create(who, more)
    const hold = await holdUp(t, 'insert on messages', { when: `new.email = 'c2@people.example'` })
    const taken = step(who, id)
    await hold.reached()
    await erase(who, 'c1@people.example')
    await hold.release()
    await taken
    await steps(who, id)
    expect(await addressees(who)).toEqual(others)
    expect(await show(who, id)).toMatchObject({ recipients: 2, queued: 2 })
    expect(await used(who)).toBe(2)
  })

  test('is open: the step waits for it, and the person gets no email', async () => {
    const who = await audience(t, 3)
    const { id } = await create(who)
    const hold = await holdUp(t, 'delete on contacts', { when: `old.account_id = '${who.account.id}'` })
    const erasing = erase(who, 'c1@people.example')
    await hold.reached()
    const taken = step(who, id)
    await untilLocked(t.app.database, 1)
    await hold.release()
    await Promise.all([erasing, taken])
    await steps(who, id)
    expect(await addressees(who)).toEqual(others)
    expect(await show(who, id)).toMatchObject({ recipients: 2, queued: 2 })
  })
})

test('an unexpected error in one broadcast is reported and delays no other', async () => {
  const [broken, who] = [await audience(t, 2), await audience(t, 2)]
  const faulty = await create(broken)
  await t.app.sql(
    `create function fail() returns trigger language plpgsql as $$ begin raise exception 'no luck'; end $$`,
  )
  await t.app.sql(
    `create trigger fail before update on broadcasts for each row when (new.account_id = '${broken.account.id}') execute function fail()`,
  )
  const { id } = await create(who)
  const reported: unknown[] = []
  const stop = new AbortController()
  const running = runBroadcasts(t.app, stop.signal, (fault, about) => reported.push({ fault: String(fault), ...about }))
  await eventually(async () => (await show(who, id)).queued === 2)
  await eventually(() => reported.length > 0)
  stop.abort()
  await running
  await t.app.sql('drop function fail cascade')
  expect(reported).toEqual([{ fault: 'error: no luck', broadcast: faulty.id }])
  expect(await tallyMessages(t.app, broken.account.id)).toEqual({})
})
