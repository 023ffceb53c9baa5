import { afterEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { readQueues } from '../../src/app/queue-depths.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  BroadcastChanges,
  cancelBroadcast,
  copyBroadcast,
  createBroadcast,
  deleteBroadcast,
  NewBroadcast,
  pauseBroadcast,
  resumeBroadcast,
  sendBroadcast,
  showBroadcast,
  updateBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import type { Work } from '../../src/store/work.ts'
import { useApp } from '../support/app.ts'
import { type Audience, addPeople, audience } from '../support/broadcasts.ts'
import { eventually } from '../support/deliveries.ts'
import { startMail } from '../support/messages.ts'
import { atEnd, endStarted } from '../support/scope.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))

afterEach(async () => {
  await endStarted()
  await t.app.sql('delete from message_queue')
  sink.always({})
  sink.mails.length = 0
})

const run = <T>({ account }: Audience, operation: (work: Work) => Promise<T>) =>
  t.app.work(account.id, 'cli:test', operation)
const draft = (who: Audience, more: object = {}) =>
  run(who, (work) => createBroadcast(work, NewBroadcast.parse({ list: 'People', project: 'Spring', ...more })))
const update = (who: Audience, ref: string, changes: object) =>
  run(who, (work) => updateBroadcast(work, ref, BroadcastChanges.parse(changes)))
const send = (who: Audience, ref: string) => run(who, (work) => sendBroadcast(t.app, work, ref))
const show = (who: Audience, ref: string) => run(who, (work) => showBroadcast(work, ref))
const pause = (who: Audience, ref: string) => run(who, (work) => pauseBroadcast(work, ref))
const resume = (who: Audience, ref: string) => run(who, (work) => resumeBroadcast(work, ref))
const remove = (who: Audience, ref: string) => run(who, (work) => deleteBroadcast(work, ref))
const step = (who: Audience, id: string) => run(who, (work) => advanceBroadcast(t.app, work, id))
const steps = async (who: Audience, id: string) => {
  while ((await step(who, id))?.isMore);
}
const startSending = async () => {
  const app = await openApp(readConfig(t.env))
  const stop = new AbortController()
  const running = runBroadcasts(app, stop.signal, (fault) => {
    throw fault
  })
  atEnd(app.close)
  atEnd(() => {
    stop.abort()
    return running
  })
  startMail(app)
}
const conflict = { kind: 'conflict' }

test('a draft is changed by id or unique name; what is not named stays, null takes the default again', async () => {
  const who = await audience(t, 3)
  const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
  const { id } = await draft(who, { name: 'May', subject: 'One', rate: 5, at, replyTo: 'a@shop.example' })
  expect(await update(who, 'May', { subject: 'Two' })).toMatchObject({
    ...{ id, name: 'May', subject: 'Two', rate: 5, scheduledAt: Date.parse(at), replyTo: 'a@shop.example' },
  })
  expect(await update(who, id, { name: 'June', subject: null, rate: null, at: null, replyTo: null })).toMatchObject({
    ...{ name: 'June', subject: 'Spring', rate: null, scheduledAt: null, replyTo: null, recipients: 3 },
  })
  expect(await update(who, 'June', { where: 'field.name = N1', list: 'People' })).toMatchObject({ recipients: 1 })
  await expect(update(who, id, { list: 'Nobody' })).rejects.toMatchObject({ kind: 'not_found' })
  await expect(update(who, id, { at: '2020-01-01' })).rejects.toMatchObject({ kind: 'invalid' })
  await send(who, 'June')
  await expect(update(who, id, { subject: 'Late' })).rejects.toMatchObject(conflict)
  expect((await show(who, id)).subject).toBe('Spring')
})

test('a name that several broadcasts have is refused, an id is not', async () => {
  const who = await audience(t, 1)
  const [one, two] = [await draft(who), await draft(who)]
  const message = `More than one broadcast has the name Spring: ${one.id}, ${two.id}`
  await expect(send(who, 'Spring')).rejects.toMatchObject({ ...conflict, message })
  await expect(remove(who, 'Spring')).rejects.toMatchObject(conflict)
  expect((await remove(who, one.id)).id).toBe(one.id)
  expect((await show(who, 'Spring')).id).toBe(two.id)
  await expect(show(await audience(t, 0), 'Spring')).rejects.toMatchObject({ kind: 'not_found' })
})

test('a copy is a draft with the same content and recipients, and its own name; nothing of its past is copied', async () => {
  const who = await audience(t, 3)
  await draft(who, { name: 'May', subject: 'One', rate: 60, where: 'field.name = N1', replyTo: 'a@shop.example' })
  await send(who, 'May')
  const copy = await run(who, (work) => copyBroadcast(work, 'May', 'June'))
  expect(copy).toMatchObject({
    ...{ name: 'June', status: 'draft', subject: 'One', rate: 60, where: 'field.name = N1', replyTo: 'a@shop.example' },
    ...{ projectVersion: null, scheduledAt: null, startedAt: null, queued: 0, recipients: 1 },
  })
  await send(who, 'June')
  await steps(who, copy.id)
  expect(await show(who, 'June')).toMatchObject({ queued: 1 })
})

test('a copy counts its own recipients: none if the list was deleted', async () => {
  const who = await audience(t, 3)
  await draft(who, { name: 'May' })
  await addPeople(t, who, 3, 5)
  const copy = (name: string) => run(who, (work) => copyBroadcast(work, 'May', name))
  expect((await copy('June')).recipients).toBe(5)
  await run(who, async (work) => {
    for (const name of ['May', 'June']) await cancelBroadcast(work, name)
  })
  await deleteList(t.app, who.account.id, who.listId, { actor: 'cli:test' })
  expect((await copy('July')).recipients).toBe(0)
})

test('a draft can be deleted, and one that was cancelled before anything was sent; no other', async () => {
  const who = await audience(t, 3)
  const { id } = await draft(who, { name: 'May' })
  await send(who, id)
  await expect(remove(who, id)).rejects.toMatchObject(conflict)
  await run(who, (work) => cancelBroadcast(work, 'May'))
  expect(await remove(who, 'May')).toMatchObject({ id, status: 'cancelled' })
  await expect(show(who, id)).rejects.toMatchObject({ kind: 'not_found' })
  const begun = await draft(who)
  await send(who, begun.id)
  await step(who, begun.id)
  await run(who, (work) => cancelBroadcast(work, begun.id))
  await expect(remove(who, begun.id)).rejects.toMatchObject(conflict)
  await steps(who, begun.id)
  await remove(who, begun.id)
  const done = await draft(who)
  await send(who, done.id)
  await startSending()
  await eventually(async () => (await show(who, done.id)).status === 'done')
  await expect(remove(who, done.id)).rejects.toMatchObject(conflict)
})

test('a paused broadcast hands over no message, queues none and releases none until it is resumed; then the rest, once', async () => {
  const who = await audience(t, 300)
  const { id } = await draft(who)
  await expect(pause(who, id)).rejects.toMatchObject(conflict)
  await send(who, id)
  await steps(who, id)
  sink.always({ delayMs: 20 })
  await startSending()
  await sink.arrived(20)
  const { promise: until, resolve: answer } = Promise.withResolvers<void>()
  sink.always({ until })
  expect(await pause(who, id)).toMatchObject({ status: 'paused' })
  const before = sink.mails.length
  answer()
  const other = await audience(t, 300)
  const second = await draft(other)
  await send(other, second.id)
  // Once all of another broadcast is sent, this one has had its turns.
  await eventually(async () => (await show(other, second.id)).status === 'done')
  const ofPaused = sink.mails.length - 300
  // Only messages that were claimed before leave.
  expect(ofPaused - before).toBeLessThan(100)
  expect(await show(who, id)).toMatchObject({ status: 'paused', sent: ofPaused, queued: 300 - ofPaused })
  expect(await step(who, id)).toBeNull()
  expect((await pause(who, id)).status).toBe('paused')
  expect((await resume(who, id)).status).toBe('sending')
  await eventually(async () => (await show(who, id)).status === 'done')
  expect(await show(who, id)).toMatchObject({ sent: 300, failed: 0, queued: 0 })
  expect(sink.mails).toHaveLength(600)
  await expect(resume(who, id)).rejects.toMatchObject(conflict)
  await expect(pause(who, id)).rejects.toMatchObject(conflict)
})

test('a scheduled broadcast that is paused does not begin at its time; it can be cancelled', async () => {
  const who = await audience(t, 3)
  const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
  const [one, two] = [await draft(who, { at }), await draft(who, { at, name: 'Two' })]
  for (const { id } of [one, two]) {
    await send(who, id)
    await pause(who, id)
  }
  await t.advance(3_700_000)
  await startSending()
  expect(await step(who, one.id)).toBeNull()
  expect((await run(who, (work) => cancelBroadcast(work, 'Two'))).status).toBe('cancelled')
  expect((await resume(who, one.id)).status).toBe('scheduled')
  await eventually(async () => (await show(who, one.id)).status === 'done')
  expect(sink.mails).toHaveLength(3)
  expect(await t.app.sql('select from message_pauses where account_id = $1', [who.account.id])).toEqual([])
})

test('a paused broadcast that is cancelled ends its messages and returns their volume', async () => {
  const who = await audience(t, 700)
  const { id } = await draft(who)
  await send(who, id)
  await step(who, id)
  const depth = async () => (await readQueues(t.app)).find(({ queue }) => queue === 'sends')!.depth
  expect(await depth()).toBe(500)
  await pause(who, id)
  // Paused messages don't report that the queue is not worked off.
  expect(await depth()).toBe(0)
  await run(who, (work) => cancelBroadcast(work, id))
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ status: 'cancelled', failed: 500, queued: 0 })
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [
    who.account.id,
  ])
  expect(use).toEqual({ used: 0 })
})

test('a draft whose list was deleted can be changed, but for its recipients', async () => {
  const who = await audience(t, 2)
  const { id } = await draft(who)
  await deleteList(t.app, who.account.id, who.listId, { actor: 'cli:test' })
  expect(await update(who, id, { name: 'Renamed', subject: 'New', rate: 5 })).toMatchObject({
    ...{ name: 'Renamed', subject: 'New', rate: 5, recipients: 2 },
  })
  await expect(update(who, id, { where: 'name = x' })).rejects.toMatchObject({ kind: 'not_found' })
  expect(await remove(who, id)).toMatchObject({ name: 'Renamed' })
})
