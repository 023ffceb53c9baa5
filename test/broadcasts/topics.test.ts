import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  cancelBroadcast,
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  sendBroadcast,
  showBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import type { Work } from '../../src/store/work.ts'
import { leaveMail } from '../../src/suppressions/suppressions.add.ts'
import { leaveTopics } from '../../src/suppressions/suppressions.ts'
import { deleteTopic } from '../../src/suppressions/topics.change.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { untilLocked } from '../support/database.ts'
import { eventually } from '../support/deliveries.ts'
import { startMail } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { makeTopic, preferencePath } from '../support/topics.ts'

const sink = useSink()
const t = useApp(() => ({
  env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' },
  development: true,
}))

let who: Audience
let news: string
const ends: (() => Promise<void>)[] = []

beforeEach(async () => {
  who = await audience(t, 12)
  news = await makeTopic(t, who.account, 'News')
  sink.mails.length = 0
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  sink.always({})
  await t.app.sql('delete from message_queue')
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(who.account.id, 'cli:test', run)
const create = (more: object = {}) =>
  work((w) => createBroadcast(w, NewBroadcast.parse({ list: 'People', project: 'Spring', topic: 'News', ...more })))
const send = (id: string) => work((w) => sendBroadcast(t.app, w, id))
const step = (id: string) => work((w) => advanceBroadcast(t.app, w, id))
const show = (id: string) => work((w) => showBroadcast(w, id))
const address = (n: number) => `c${n}@people.example`
const leave = (...numbers: number[]) => work((w) => leaveTopics(w, numbers.map(address), [news]))
const carry = async () => {
  const app = await openApp(readConfig(t.env))
  ends.push(app.close, startMail(app).stop)
}
const done = async (id: string) => {
  await eventually(async () => {
    await step(id)
    return (await show(id)).status === 'done'
  })
}
const recipients = () => sink.mails.map(({ to }) => to[0]).sort()

test('who has left the topic gets nothing of it, and is counted as suppressed; who left another one gets it', async () => {
  const other = await makeTopic(t, who.account, 'Other')
  await leave(1)
  await work((w) => leaveTopics(w, [address(2)], [other]))
  await work((w) => leaveMail(w, { email: address(3), messageId: null, topicIds: null }))
  const draft = await create()
  expect(draft).toMatchObject({ topicId: news })
  const plan = await work((w) => planBroadcast(t.app, w, draft.id))
  expect(plan).toMatchObject({ topicId: news, topicName: 'News', recipients: 12, mails: 10, suppressed: 2 })
  const untopical = await create({ topic: undefined })
  expect(untopical).not.toHaveProperty('topicId')
  expect(await work((w) => planBroadcast(t.app, w, untopical.id))).toMatchObject({ mails: 11, suppressed: 1 })

  await send(draft.id)
  await carry()
  await done(draft.id)
  expect(await show(draft.id)).toMatchObject({ sent: 10, suppressed: 2, failed: 0 })
  expect(recipients()).toEqual([0, 2, 4, 5, 6, 7, 8, 9, 10, 11].map(address).sort())
  const rows = await t.app.sql(
    `select email, reason from messages where account_id = $1 and status = 'suppressed' order by email`,
    [who.account.id],
  )
  expect(rows).toEqual([1, 3].map((n) => ({ email: address(n), reason: 'unsubscribed' })))
  // The same link leaves the topic of the broadcast.
  const mail = sink.mails.find(({ to }) => to[0] === address(4))!
  expect((await t.request('POST', preferencePath(mail))).status).toBe(200)
  expect(await work((w) => planBroadcast(t.app, w, untopical.id))).toMatchObject({ mails: 11 })
})

test('who leaves after the emails were queued gets none: the claim checks again', async () => {
  const { id } = await create()
  await send(id)
  await step(id)
  expect((await show(id)).queued).toBe(12)
  await leave(0, 5, 11)
  await carry()
  await done(id)
  expect(await show(id)).toMatchObject({ sent: 9, suppressed: 3 })
  expect(recipients()).not.toEqual(expect.arrayContaining([address(0)]))
  expect(sink.mails).toHaveLength(9)
})

test('who leaves while the emails are being handed over, held up by a slow relay, gets none', async () => {
  sink.always({ delayMs: 150 })
  const { id } = await create({ rate: 100_000 })
  await send(id)
  await step(id)
  await carry()
  const left = new Set<string>()
  await eventually(async () => {
    await step(id)
    for (const email of await work(waiting)) {
      const added = await work((w) => leaveTopics(w, [email], [news]))
      if (added.length > 0 && (await isUnsent(email))) left.add(email)
      break
    }
    return (await show(id)).status === 'done'
  })
  const view = await show(id)
  expect(view.sent + view.suppressed).toBe(12)
  expect(sink.mails).toHaveLength(view.sent)
  // An email that no connection had taken when its recipient left was not sent.
  for (const email of left) expect(recipients()).not.toContain(email)
})

const waiting = async ({ sql, accountId }: Work) =>
  (
    await sql<{ email: string }>(
      `select m.email from message_queue q join messages m using (account_id, id)
       where account_id = $1 and not q.is_handing order by m.id desc limit 1`,
      [accountId],
    )
  ).map(({ email }) => email)
const isUnsent = async (email: string) =>
  (
    await t.app.sql(
      `select from message_queue q join messages m using (account_id, id)
       where account_id = $1 and m.email = $2 and not q.is_handing`,
      [who.account.id, email],
    )
  ).length > 0

test('a topic is not deleted while a draft, a scheduled broadcast or one that is being sent uses it', async () => {
  const refused = { kind: 'conflict', message: '1 unsent broadcast will use the topic News' }
  const remove = () => work((w) => deleteTopic(w, 'News'))
  const { id } = await create()
  await expect(remove()).rejects.toMatchObject(refused)
  await send(id)
  expect((await show(id)).status).toBe('scheduled')
  await expect(remove()).rejects.toMatchObject(refused)
  await step(id)
  expect((await show(id)).status).toBe('sending')
  await expect(remove()).rejects.toMatchObject(refused)
  await carry()
  await done(id)
  expect(sink.mails).toHaveLength(12)
  expect(await remove()).toMatchObject({ id: news, left: 0 })
  expect(await show(id)).toMatchObject({ topicId: news, status: 'done' })
  await expect(create()).rejects.toMatchObject({ kind: 'not_found' })
})

test('a topic whose only broadcast is cancelled can be deleted', async () => {
  const { id } = await create()
  await work((w) => cancelBroadcast(w, id))
  expect(await work((w) => deleteTopic(w, 'News'))).toMatchObject({ id: news })
})

test('a deletion waits for a draft that is being made, and is refused then', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let made = () => {}
  const isMade = new Promise<void>((resolve) => {
    made = resolve
  })
  const making = work(async (w) => {
    const draft = await createBroadcast(w, NewBroadcast.parse({ list: 'People', project: 'Spring', topic: 'News' }))
    made()
    await held
    return draft
  })
  await isMade
  const refused = expect(work((w) => deleteTopic(w, 'News'))).rejects.toMatchObject({ kind: 'conflict' })
  await untilLocked(t.app.database, 1)
  release()
  expect(await making).toMatchObject({ topicId: news })
  await refused
})

test('a topic of another account, and an unknown one, are refused, and no draft is made', async () => {
  const { account } = await audience(t, 0)
  const foreign = await makeTopic(t, account, 'Foreign')
  for (const topic of [foreign, 'Foreign', 'top_none'])
    await expect(create({ topic })).rejects.toMatchObject({ kind: 'not_found', message: `There is no topic ${topic}` })
  expect(await t.app.sql('select from broadcasts where account_id = $1', [who.account.id])).toEqual([])
})
