import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  cancelBroadcast,
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  showBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { deleteList, eraseContact } from '../../src/contacts/contacts.ts'
import { queueMails, suppressAddresses } from '../../src/messages/messages.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type Audience, addPeople, audience } from '../support/broadcasts.ts'
import { freePort } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
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

const create = ({ account }: Audience, more: object = {}) =>
  t.app.work(account.id, 'cli:test', (work) =>
    createBroadcast(t.app, work, NewBroadcast.parse({ list: 'People', project: 'Spring', ...more })),
  )
const show = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => showBroadcast(work, id))
const cancel = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => cancelBroadcast(work, id))
const step = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => advanceBroadcast(t.app, work, id))
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
/** The loop of the broadcasts in this process. */
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
/** The mail loop, in an app of its own as in its thread: a stop closes its connections to relays. */
const send = async () => {
  const app = await openApp(readConfig(t.env))
  ends.push(app.close, startMail(app).stop)
}
const isDone = (who: Audience, id: string) => async () => (await show(who, id)).status === 'done'

test('every active contact of the list gets one marketing mail, of its fields and its email', async () => {
  const who = await audience(t, 603)
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email = 'c5@people.example'`, [
    who.account.id,
  ])
  const { id, ...made } = await create(who, { subject: 'For {{ name }} <{{ email }}>' })
  expect(id).toMatch(/^bct_/)
  expect(made).toEqual({
    ...{ status: 'scheduled', listId: who.listId, projectId: who.projectId, scheduledAt: null, recipients: 602 },
    ...{ queued: 0, sent: 0, failed: 0, suppressed: 0, createdAt: expect.any(Number) },
  })
  startLoop()
  await send()
  await eventually(isDone(who, id), 30_000)
  expect(await show(who, id)).toMatchObject({ status: 'done', recipients: 602, queued: 0, sent: 602, failed: 0 })
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(602)
  expect(sink.mails).toHaveLength(602)
  const mail = sink.mails.find(({ to }) => to[0] === 'c7@people.example')!
  expect(mail.header('subject')).toBe('For N7 <c7@people.example>')
  expect(mail.header('list-unsubscribe')).toBeDefined()
  expect(mail.raw).toContain('Hello N7')
  const rows = await t.app.sql(
    `select distinct type, source_kind, source_id, merge_data ->> 'email' = email as data from messages where account_id = $1`,
    [who.account.id],
  )
  expect(rows).toEqual([{ type: 'marketing', source_kind: 'send', source_id: null, data: true }])
  expect(await used(who)).toBe(602)
  expect(await t.app.sql('select from message_tallies where account_id = $1', [who.account.id])).toEqual([])
}, 60_000)

test('suppressed ones are counted and not sent, those too that come to be while it is under way; they use no volume', async () => {
  const who = await audience(t, 10)
  const suppress = (emails: string[]) =>
    t.app.work(who.account.id, 'cli:test', (work) => suppressAddresses(work, emails, 'unsubscribed'))
  await suppress(['c1@people.example', 'c2@people.example', 'stranger@people.example'])
  const plan = await t.app.work(who.account.id, 'cli:test', (work) =>
    planBroadcast(t.app, work, NewBroadcast.parse({ list: 'People', project: 'Spring' })),
  )
  expect(plan).toMatchObject({ recipients: 10, mails: 8, suppressed: 2 })
  expect(await t.app.sql('select from broadcasts where account_id = $1', [who.account.id])).toEqual([])
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

test('the list counts as it stands when sending begins: not before, and not after', async () => {
  const who = await audience(t, 600)
  const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
  const { id, ...made } = await create(who, { at })
  expect(made).toMatchObject({ status: 'scheduled', scheduledAt: Date.parse(at), recipients: 600 })
  expect(await step(who, id)).toBeNull()
  startLoop()
  await addPeople(t, who, 600, 700)
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect((await show(who, id)).status).toBe('scheduled')
  for (const end of ends.splice(0)) await end()
  await t.advance(3_600_000)
  await step(who, id)
  await new Promise((resolve) => setTimeout(resolve, 20))
  await addPeople(t, who, 700, 800)
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ status: 'sending', recipients: 700, queued: 700 })
})

test('one whose list is gone when its time comes is cancelled, and mails nobody', async () => {
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

describe('what is refused', () => {
  test('more mails than the month’s volume has left, with both numbers; suppressed ones do not count', async () => {
    await t.app.sql(`insert into plans select 'five', 9, null, 5, null, null, null, true on conflict do nothing`)
    const who = await audience(t, 7, 'five')
    await expect(create(who)).rejects.toMatchObject({
      kind: 'limited',
      message: 'The broadcast has 7 recipients, and the month’s send volume has 5 left',
    })
    await t.app.work(who.account.id, 'cli:test', (work) =>
      suppressAddresses(work, ['c1@people.example', 'c2@people.example'], 'manual'),
    )
    const { id } = await create(who)
    await steps(who, id)
    expect(await show(who, id)).toMatchObject({ queued: 5, suppressed: 2, failed: 0 })
    // The volume is used up, but not that of the next month.
    await expect(create(who)).rejects.toMatchObject({ kind: 'limited' })
    const now = t.app.now()
    const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 2)).toISOString()
    expect((await create(who, { at: next })).status).toBe('scheduled')
  })

  test('what finds no volume any more when it is queued fails with its reason', async () => {
    await t.app.sql(`insert into plans select 'five', 9, null, 5, null, null, null, true on conflict do nothing`)
    const who = await audience(t, 4, 'five')
    const [first, second] = [await create(who), await create(who)]
    await steps(who, first.id)
    await steps(who, second.id)
    expect(await show(who, second.id)).toMatchObject({ queued: 1, failed: 3 })
    expect(await used(who)).toBe(5)
  })

  test('no sender, a time that has passed, a rate that is none, a list or project that is another’s', async () => {
    const who = await audience(t, 1)
    const stranger = await audience(t, 1)
    const at = new Date(t.app.now().getTime() - 1000).toISOString()
    await expect(create(who, { at })).rejects.toMatchObject({ kind: 'invalid' })
    expect(() => NewBroadcast.parse({ list: 'People', project: 'Spring', at: 'soon' })).toThrow()
    for (const rate of ['0', '1.5', 'fast', '-1'])
      expect(() => NewBroadcast.parse({ list: 'People', project: 'Spring', rate })).toThrow()
    await expect(create(who, { list: stranger.listId })).rejects.toMatchObject({ kind: 'missing' })
    await expect(create(who, { project: stranger.projectId })).rejects.toMatchObject({ kind: 'missing' })
    const { id } = await create(who)
    await expect(show(stranger, id)).rejects.toMatchObject({ kind: 'missing' })
    await expect(cancel(stranger, id)).rejects.toMatchObject({ kind: 'missing' })
    expect(await step(stranger, id)).toBeNull()
    await t.app.sql('delete from senders where account_id = $1', [who.account.id])
    await expect(create(who)).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('cancel', () => {
  test('stops what is not handed over, gives its volume back, and ends it as failed', async () => {
    const who = await audience(t, 1300)
    sink.always({ delayMs: 50 })
    const { id } = await create(who)
    await steps(who, id)
    await send()
    await sink.arrived(10)
    const cancelled = await cancel(who, id)
    expect(cancelled.status).toBe('cancelled')
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
    expect(errors).toEqual([{ error: 'The broadcast was cancelled' }])
    const before = sink.mails.length
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(sink.mails).toHaveLength(before)
    expect((await cancel(who, id)).status).toBe('cancelled')
  }, 30_000)

  test('of one that has not begun leaves nothing to send, of one that is done is refused', async () => {
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

  test('while it is being queued ends what is queued, and queues no more; killed midway, a job goes on', async () => {
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

  test('what a relay puts off after it is cancelled does not come back', async () => {
    const who = await audience(t, 3)
    sink.always({ delayMs: 300, refuse: { at: 'data', answer: '451 4.7.1 Later' } })
    const { id } = await create(who)
    await steps(who, id)
    await send()
    await eventually(async () => (await t.app.sql('select from message_queue where is_handing')).length === 3)
    await cancel(who, id)
    startLoop()
    await eventually(async () => (await show(who, id)).failed === 3, 15_000)
    expect(await used(who)).toBe(0)
    expect(await t.app.sql('select from message_queue where account_id = $1', [who.account.id])).toEqual([])
  }, 20_000)
})

test('who is erased while mails wait gets none: it counts as failed, before a broadcast is cancelled and after', async () => {
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

test('--rate is mails a minute, whoever takes the steps, and what was missed is not made up for', async () => {
  const who = await audience(t, 700)
  const { id } = await create(who, { rate: '12' })
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
  // A relay that takes none: a minute’s worth waits for it at most.
  for (let i = 0; i < 15; i++) {
    await t.advance(5000)
    await step(who, id)
  }
  expect(await released()).toBe(12)
}, 30_000)

test('a paced broadcast leaves at its pace, and each of its mails once', async () => {
  const who = await audience(t, 12)
  startLoop()
  await send()
  const before = performance.now()
  const { id } = await create(who, { rate: '240' })
  await eventually(isDone(who, id), 20_000)
  expect(performance.now() - before).toBeGreaterThan(2500)
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(12)
}, 30_000)

test('a mail of its own waits for no broadcast of the account, whatever of it is queued', async () => {
  const who = await audience(t, 3000)
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
  // Those in hand go before it, and those that leave while it is claimed.
  expect(at - before).toBeLessThan(90)
  expect((await show(who, id)).queued).toBeGreaterThan(2000)
}, 30_000)

test('two loops and the command at once queue each mail once', async () => {
  const who = await audience(t, 2600)
  const { id } = await create(who)
  startLoop()
  startLoop()
  await eventually(async () => (await show(who, id)).queued === 2600, 20_000)
  const [row] = await t.app.sql(
    'select count(*) as count, count(distinct email) as people from messages where account_id = $1',
    [who.account.id],
  )
  expect(row).toEqual({ count: 2600, people: 2600 })
}, 30_000)

test('a fault of ours in one broadcast is reported and holds up no other', async () => {
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
