import { afterEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import { cancelBroadcast, createBroadcast, NewBroadcast, sendBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { eraseContact, readTimeline } from '../../src/contacts/contacts.ts'
import { cancelSend } from '../../src/messages/messages.ts'
import { holdQueues, releaseQueues } from '../../src/queue/holds.ts'
import { mailStats, resultsOf } from '../../src/results/results.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { createTopic } from '../../src/suppressions/topics.change.ts'
import { ok, useApp } from '../support/app.ts'
import { audience } from '../support/broadcasts.ts'
import { eventually } from '../support/deliveries.ts'
import { freeform, queueMany, startMail, tallyMessages } from '../support/messages.ts'
import { randomOfTest } from '../support/random.ts'
import { atEnd, endStarted } from '../support/scope.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))

afterEach(async () => {
  await endStarted()
  sink.always({})
})

const usedBy = async (accountId: string): Promise<number> => {
  const rows = await t.app.sql<{ used: number }>(
    `select used from quota_uses where account_id = $1 and quota = 'sends'`,
    [accountId],
  )
  return rows[0]?.used ?? 0
}

/** Counts the messages that use volume: sent, pending, and failed after a relay was asked to take them. */
const expected = async (accountId: string): Promise<number> => {
  const rows = await t.app.sql<{ count: number }>(
    `select count(*) as count from messages where account_id = $1
       and (status in ('sent', 'pending') or status = 'failed' and (error like 'The relay %' or error like 'delivery state%'))`,
    [accountId],
  )
  return rows[0]!.count
}

const startSending = async () => {
  const app = await openApp(readConfig(t.env))
  atEnd(app.close)
  startMail(app)
}

test('the volume of a month is what was sent, what waits, and what failed after its hand-over', async () => {
  const random = randomOfTest()
  const who = await audience(t, 60)
  const { id: accountId } = who.account
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(accountId, 'cli:test', operation)
  const someone = () => `c${random.between(0, 59)}@people.example`
  const isExact = async () => expect(await usedBy(accountId)).toBe(await expected(accountId))

  const topic = await run((work) => createTopic(work, { name: 'News', description: '' }))
  const sent = await run(async (work) => {
    const { id } = await createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring' }))
    return sendBroadcast(t.app, work, id)
  })
  await run((work) => advanceBroadcast(t.app, work, sent.id))
  await queueMany(t.app, accountId, 10, { type: 'marketing' })
  await queueMany(t.app, accountId, 3, { type: 'marketing', topicId: topic.id })
  const scheduledAt = t.app.now().getTime() + 3_600_000
  const later: string[] = []
  for (let i = 0; i < 4; i++) {
    const to = `later${i}@people.example`
    const { body } = await ok(
      t.request('POST', '/api/v1/send', { key: who.account.key, body: freeform({ to, scheduledAt }) }),
    )
    later.push(String(Object(body).id))
  }
  await isExact()
  await run((work) => cancelSend(work, later[0]!))
  for (const reason of ['unsubscribed', 'manual', 'complained'] as const)
    await run((work) => suppressAddresses(work, [someone(), someone(), someone()], reason))
  await run((work) => suppressAddresses(work, ['person1@people.example', 'later1@people.example'], 'manual'))
  await run((work) => eraseContact(work, someone(), { dryRun: false }))
  await t.app.sql('update topics set deleted_at = svc_now() where account_id = $1', [accountId])
  await isExact()
  for (let i = 0; i < 12; i++)
    sink.next(random.next() < 0.5 ? {} : { refuse: { at: random.pick(['to', 'data']), answer: '550 5.7.1 No' } })
  await startSending()
  await eventually(async () => (await tallyMessages(t.app, accountId)).pending === 3)
  await isExact()
  await t.advance(3_600_000)
  await eventually(async () => (await tallyMessages(t.app, accountId)).pending === undefined)
  await isExact()
  expect(await tallyMessages(t.app, accountId)).toMatchObject({
    sent: sink.mails.length,
    suppressed: expect.any(Number),
  })
})

test('a suppressed message whose volume is locked delays no other, and its volume is returned later', async () => {
  const [who, other] = [await audience(t, 2), await audience(t, 1)]
  for (const { account } of [who, other]) await queueMany(t.app, account.id, 2, { type: 'marketing' })
  await t.app.work(who.account.id, 'cli:test', (work) =>
    suppressAddresses(work, ['person0@people.example'], 'unsubscribed'),
  )
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const held = t.app.work(who.account.id, 'cli:test', async (work) => {
    await work.sql('select from quota_uses where account_id = $1 for update', [who.account.id])
    locked.resolve()
    await release.promise
  })
  await locked.promise
  await startSending()
  await eventually(async () => (await tallyMessages(t.app, other.account.id)).sent === 2)
  await eventually(async () => (await tallyMessages(t.app, who.account.id)).sent === 1)
  expect((await tallyMessages(t.app, who.account.id)).suppressed).toBeUndefined()
  release.resolve()
  await held
  await eventually(async () => (await tallyMessages(t.app, who.account.id)).suppressed === 1)
  expect(await usedBy(who.account.id)).toBe(1)
})

test('cancelled emails count as cancelled, not as failed, and are not in the timeline of a person', async () => {
  const who = await audience(t, 3)
  const { id: accountId } = who.account
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(accountId, 'cli:test', operation)
  const { id } = await run(async (work) => {
    const made = await createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring' }))
    return sendBroadcast(t.app, work, made.id)
  })
  const step = () => run((work) => advanceBroadcast(t.app, work, id))
  await step()
  await run((work) => cancelBroadcast(work, id))
  while ((await step())?.isMore);
  expect(await run((work) => resultsOf(work, id))).toMatchObject({ cancelled: 3, failed: 0, sent: 0 })
  const day = { from: t.app.now(), to: t.app.now() }
  expect(await run((work) => mailStats(work, day))).toMatchObject({ cancelled: 3, failed: 0 })
  const errors = await t.app.sql('select distinct status, error from messages where account_id = $1', [accountId])
  expect(errors).toEqual([{ status: 'failed', error: 'cancelled' }])
  expect(await usedBy(accountId)).toBe(0)
  const { timeline } = await run((work) => readTimeline(t.app, work, 'c1@people.example', 50))
  expect(timeline.filter(({ kind }) => kind.startsWith('email.'))).toEqual([])
})

test.each(['are paused', 'wait for the relay'])(
  'messages whose time passes while sends %s are not sent, and their volume is returned',
  async (why) => {
    const isPaused = why === 'are paused'
    const { account } = await audience(t, 1)
    const at = (hours: number) => new Date(t.app.now().getTime() + hours * 3_600_000)
    if (isPaused) await holdQueues(t.app.sql, ['sends'])
    else sink.always({ refuse: { at: 'to', answer: '451 4.7.1 Later' } })
    const times = { late: { expiresAt: at(1) }, soon: { expiresAt: at(9) }, any: {} }
    for (const [name, more] of Object.entries(times))
      await queueMany(t.app, account.id, 1, { ...more, to: `${name}@people.example` })
    expect(await usedBy(account.id)).toBe(3)
    await startSending()
    const tries = () =>
      t.app.sql<{ tries: number }>('select tries from message_queue where account_id = $1 and worker is null', [
        account.id,
      ])
    if (!isPaused) await eventually(async () => (await tries()).filter((row) => row.tries === 1).length === 3)
    await t.advance(2 * 3_600_000)
    if (isPaused) await releaseQueues(t.app.sql, ['sends'])
    sink.always({})
    await eventually(async () => (await tallyMessages(t.app, account.id)).pending === undefined)
    const rows = await t.app.sql('select email, status, error from messages where account_id = $1 order by email', [
      account.id,
    ])
    expect(rows).toEqual([
      { email: 'any@people.example', status: 'sent', error: null },
      { email: 'late@people.example', status: 'failed', error: 'It could not be sent in time' },
      { email: 'soon@people.example', status: 'sent', error: null },
    ])
    expect(sink.mails.filter((mail) => mail.header('to')!.includes('late@'))).toEqual([])
    expect(await usedBy(account.id)).toBe(2)
  },
)
