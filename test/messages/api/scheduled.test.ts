import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { cancelSend } from '../../../src/messages/messages.ts'
import { senderOf } from '../../../src/messages/outbox/sender.ts'
import { addDomain, deleteDomain } from '../../../src/senders/domains.ts'
import type { Sql } from '../../../src/store/database.ts'
import { applyProjects, deleteProject } from '../../../src/studio/studio.ts'
import { leaveTopics, suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { deleteTopic } from '../../../src/suppressions/topics.change.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { eventually } from '../../support/deliveries.ts'
import { settlesWithin } from '../../support/eventually.ts'
import { freeform, messagesOf, queueMany, sendingAccount, startMail, svcSend } from '../../support/messages.ts'
import { plainProject } from '../../support/projects.ts'
import { atEnd } from '../../support/scope.ts'
import { useSink } from '../../support/smtp.ts'
import { makeTopic } from '../../support/topics.ts'

const day = 86_400_000
const bob = 'bob@people.example'
const cleo = 'cleo@people.example'

let account: TestAccount
const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.mails.length = 0
})

const later = (ms = day) => t.app.now().getTime() + ms

const send = (more: object, headers: Record<string, string> = {}) =>
  t.request('POST', '/send', { key: account.key, body: freeform(more), headers })

const uses = async (quota: string): Promise<number> => {
  const [row] = await t.app.sql<{ used: number }>(
    'select coalesce(sum(used), 0)::int as used from quota_uses where account_id = $1 and quota = $2',
    [account.id, quota],
  )
  return row!.used
}

/** Lets the scheduled time of the account's messages come. */
const comeDue = () => t.app.sql('update message_queue set due_at = svc_now() where account_id = $1', [account.id])

/** Runs the mail job until the account's queue is empty. */
const drainMail = async () => {
  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  await eventually(
    async () => (await t.app.sql('select from message_queue where account_id = $1', [account.id])).length === 0,
  )
  await loop.stop()
  await app.close()
}

const cancel = (id: string, ...flags: string[]) =>
  svc(t, ['sends', 'cancel', id, '--json', '--account', account.name, ...flags])

const rowsOf = () => messagesOf(t.app, account.id)

test('a scheduled email answers pending, counts at once, and is sent at its time with its headers and copies', async () => {
  const at = later()
  const { status, body } = await send({ scheduledAt: at, cc: [bob], bcc: [cleo], headers: { 'X-A': 'b' } })
  expect([status, body]).toEqual([200, { id: expect.any(String), status: 'pending' }])
  expect([await uses('sends'), await uses('sendApiCalls')]).toEqual([3, 1])
  expect(await rowsOf()).toMatchObject(Array(3).fill({ status: 'pending', state: 'queued' }))
  const due = await t.app.sql<{ at: number }>(
    'select (extract(epoch from due_at) * 1000)::int8 as at from message_queue where account_id = $1',
    [account.id],
  )
  expect(due).toEqual(Array(3).fill({ at }))
  const shown = await svc(t, ['sends', 'show', body.id, '--json', '--account', account.name])
  expect(shown.json).toMatchObject({ status: 'pending', scheduledAt: at, queue: { state: 'queued', dueAt: at } })

  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  const now = await send({ to: 'dan@people.example' })
  expect(now.body.status).toBe('sent')
  expect(sink.mails.map(({ to }) => to[0])).toEqual(['dan@people.example'])
  await loop.stop()
  await app.close()

  await comeDue()
  await drainMail()
  const mails = (await sink.arrived(4)).slice(1)
  expect(mails.map(({ to }) => to[0]).sort()).toEqual(['ada@people.example', bob, cleo])
  for (const mail of mails)
    expect([mail.header('to'), mail.header('cc'), mail.header('x-a')]).toEqual(['ada@people.example', bob, 'b'])
  for (const { raw } of mails) expect(raw).not.toContain('cleo')
})

test('a repetition of the call answers the same at once', async () => {
  const key = { 'Idempotency-Key': 'later' }
  const first = await send({ scheduledAt: later() }, key)
  const repeating = send({ scheduledAt: later() }, key)
  expect(await settlesWithin(repeating, 1500)).toBe(true)
  const again = await repeating
  expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  expect(await rowsOf()).toHaveLength(1)
})

test.each([
  ['a time in the past', () => later(-1000)],
  ['a time after 30 days', () => later(30 * day + 60_000)],
  ['a text', () => new Date(later()).toISOString()],
  ['null', () => null],
  ['a fraction', () => later() + 0.5],
  ['a number that is no time', () => 1e300],
])('%s as scheduledAt returns 400, and nothing is stored', async (_, time) => {
  const { status, body } = await send({ scheduledAt: time() })
  expect([status, body]).toEqual([400, { error: expect.stringContaining('scheduledAt') }])
  expect([await rowsOf(), await uses('sends')]).toEqual([[], 0])
})

test('now and in 30 days are taken', async () => {
  expect((await send({ scheduledAt: later(2000) })).body.status).toBe('pending')
  expect((await send({ scheduledAt: later(30 * day - 2000) })).body.status).toBe('pending')
  // It must not come due in a later test.
  await t.app.sql('delete from message_queue where account_id = $1', [account.id])
})

test('the topic is checked again at sending: who has left it gets none, and a deleted one fails', async () => {
  const [news, gone] = [await makeTopic(t, account, 'News'), await makeTopic(t, account, 'Gone')]
  const marketing = async (to: string, topicId: string) =>
    expect((await send({ to, type: 'marketing', topicId, scheduledAt: later() })).body.status).toBe('pending')
  await marketing('ada@people.example', news)
  await marketing(bob, news)
  await marketing(cleo, gone)
  await t.app.work(account.id, 'cli:test', async (work) => {
    await leaveTopics(work, ['ada@people.example'], [news])
    await deleteTopic(work, gone)
  })
  await comeDue()
  await drainMail()
  expect(await rowsOf()).toMatchObject([
    { status: 'suppressed', reason: 'unsubscribed' },
    { status: 'sent' },
    { status: 'failed', error: 'The topic was deleted' },
  ])
  expect(sink.mails.map(({ to }) => to[0])).toEqual([bob])
})

test('suppression is checked at acceptance and again at sending, that of `to` for all copies', async () => {
  const suppress = (email: string) =>
    t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, [email], 'manual'))
  await suppress(bob)
  expect((await send({ to: bob, scheduledAt: later() })).body).toMatchObject({ status: 'suppressed', reason: 'manual' })
  await ok(send({ to: 'ada@people.example', cc: [cleo], scheduledAt: later() }))
  await suppress('ada@people.example')
  await comeDue()
  await drainMail()
  expect((await rowsOf()).map(({ status }) => status)).toEqual(['suppressed', 'suppressed', 'suppressed'])
  expect(sink.mails).toEqual([])
})

test('without its sender at that time it fails; a new sender of the address sends it', async () => {
  await ok(send({ scheduledAt: later() }))
  await t.app.sql('delete from senders where account_id = $1', [account.id])
  await comeDue()
  await drainMail()
  expect(await rowsOf()).toMatchObject([
    { status: 'failed', error: 'The sender was deleted before the scheduled time' },
  ])
  expect(sink.mails).toEqual([])
})

test('without its project at that time it fails', async () => {
  const [made] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [plainProject('Welcome')]))
  const { body } = await ok(
    t.request('POST', '/send', {
      key: account.key,
      body: { to: bob, projectId: made!.id, scheduledAt: later() },
    }),
  )
  expect(body).toMatchObject({ status: 'pending' })
  await t.app.work(account.id, 'cli:test', (work) => deleteProject(work, made!.id!))
  await comeDue()
  await drainMail()
  expect(await rowsOf()).toMatchObject([
    { status: 'failed', error: 'The project was deleted before the scheduled time' },
  ])
  expect(sink.mails).toEqual([])
})

test('of a deleted account it is not sent', async () => {
  await ok(send({ scheduledAt: later() }))
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [account.id])
  await comeDue()
  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  const neighbour = await sendingAccount(t)
  await ok(t.request('POST', '/send', { key: neighbour.key, body: freeform({ to: bob }) }))
  await loop.stop()
  await app.close()
  expect(sink.mails.map(({ to }) => to[0])).toEqual([bob])
})

test('`svc sends cancel` ends it with its copies and gives the volume back; a second one exits 6', async () => {
  const { body } = await ok(send({ scheduledAt: later(), cc: [bob] }))
  expect((await cancel(body.id, '--dry-run')).status).toBe(0)
  expect([(await rowsOf()).map(({ status }) => status), await uses('sends')]).toEqual([['pending', 'pending'], 2])
  const { status, json } = await cancel(body.id)
  expect([status, json]).toMatchObject([0, { id: body.id, status: 'failed', error: 'cancelled' }])
  expect(await rowsOf()).toMatchObject(Array(2).fill({ status: 'failed', error: 'cancelled', state: null }))
  expect([await uses('sends'), await uses('sendApiCalls')]).toEqual([0, 1])
  const again = await cancel(body.id, '--yes')
  expect([again.status, again.stderr]).toEqual([6, expect.stringContaining(`The send ${body.id} has ended: failed`)])
  expect(await uses('sends')).toBe(0)
})

test('an unknown send exits 3, one of another account too; one that was sent or is being sent exits 6', async () => {
  const { body } = await ok(send({ scheduledAt: later() }))
  const sent = await send({})
  const other = await sendingAccount(t)
  expect((await cancel('msg_x')).status).toBe(3)
  expect((await svc(t, ['sends', 'cancel', body.id, '--account', other.name])).status).toBe(3)
  expect((await cancel(sent.body.id)).status).toBe(6)
  await t.app.sql('update message_queue set is_handing = true where account_id = $1', [account.id])
  expect((await cancel(body.id)).status).toBe(6)
  expect((await rowsOf()).find(({ id }) => id === body.id)?.status).toBe('pending')
  expect(await uses('sends')).toBe(2)
})

test('a copy that was left out at acceptance is not named when its call is cancelled', async () => {
  await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, [cleo], 'manual'))
  const { body } = await ok(send({ scheduledAt: later(), cc: [bob, cleo] }))
  expect(body.suppressed).toEqual([cleo])
  const { status, json, stderr } = await cancel(body.id)
  expect([status, stderr]).toEqual([0, ''])
  expect(json).not.toHaveProperty('notCancelled')
  expect(await uses('sends')).toBe(0)
})

test('what waits while sends are paused can be cancelled, too: it never leaves, and the volume is returned', async () => {
  atEnd(() => t.app.sql('delete from queue_holds'))
  expect((await svc(t, ['queues', 'pause', 'sends'])).status).toBe(0)
  // The process learns by a notice, which a slow machine may bring after the answer of the command.
  await senderOf(t.app).ready()
  await eventually(() => senderOf(t.app).isHeld)
  const { body } = await ok(send({ cc: [bob] }))
  const { body: other } = await ok(send({ to: cleo }))
  expect([body.status, other.status, await uses('sends')]).toEqual(['pending', 'pending', 3])
  expect(await cancel(body.id)).toMatchObject({ status: 0, json: { status: 'failed', error: 'cancelled' } })
  const erase = () => t.request('DELETE', `/sends/${other.id}`, { key: account.key })
  expect([(await erase()).body, (await erase()).body]).toEqual([{ cancelled: true }, { cancelled: false }])
  expect(await uses('sends')).toBe(0)
  expect((await svc(t, ['queues', 'resume', 'sends', '--yes'])).status).toBe(0)
  await drainMail()
  expect(sink.mails).toEqual([])
})

test.each([
  ['belongs to a broadcast', { kind: 'send', id: null }, 'broadcast:bct_1'],
  ['belongs to a journey', { kind: 'journey', id: 'jrn_1' }, ''],
  ['is a lifecycle email', { kind: 'lifecycle', id: 'web_1:registered' }, ''],
] as const)('a pending email that %s is not cancelled by its id: exit 6', async (what, source, batch) => {
  await queueMany(t.app, account.id, 1, { source })
  const [mail] = await rowsOf()
  await t.app.sql('update message_queue set batch = $2 where account_id = $1', [account.id, batch])
  const { status, stderr } = await cancel(mail!.id)
  expect([status, stderr]).toEqual([6, expect.stringContaining(`The send ${mail!.id} ${what}`)])
  expect(await rowsOf()).toMatchObject([{ status: 'pending' }])
  await t.app.sql('delete from message_queue where account_id = $1', [account.id])
})

test('without the domain that allowed its sender at that time it fails', async () => {
  await addDomain(t.app, account.id, 'cli:test', 'news.example')
  const verify = `update domains set status = 'verified' where account_id = $1`
  await t.app.sql(verify, [account.id])
  const from = { email: 'any@news.example' }
  for (const to of ['ada@people.example', bob])
    expect((await send({ to, from, scheduledAt: later() })).body.status).toBe('pending')
  await t.app.work(account.id, 'cli:test', (work) => deleteDomain(work, 'news.example'))
  await comeDue()
  await drainMail()
  expect(await rowsOf()).toMatchObject(
    Array(2).fill({ status: 'failed', error: 'The sender was deleted before the scheduled time' }),
  )
  expect(sink.mails).toEqual([])
})

/** Runs the mail job until the queue is empty, with something that is done after a statement. */
const drainWith = async (after: (name: string) => Promise<void>) => {
  const app = await openApp(readConfig(t.env))
  const sql = (async (...[query, params]: Parameters<Sql>) => {
    const rows = await app.sql(query, params)
    if (typeof query !== 'string') await after(query.name)
    return rows
  }) as typeof app.sql
  const loop = startMail({ ...app, sql })
  await eventually(
    async () => (await t.app.sql('select from message_queue where account_id = $1', [account.id])).length === 0,
  )
  await loop.stop()
  await app.close()
}

test('`svc sends cancel` names the copies that are being sent, and exits 5', async () => {
  const { body } = await ok(send({ scheduledAt: later(), cc: [bob], bcc: [cleo] }))
  await t.app.sql(
    `update message_queue q set is_handing = true
     where account_id = $1 and id = (select id from messages where account_id = $1 and email = $2)`,
    [account.id, bob],
  )
  const { status, json, stderr } = await cancel(body.id)
  expect(status).toBe(5)
  expect(json.notCancelled).toEqual([{ id: expect.stringMatching(/^msg_/), to: bob, status: 'pending' }])
  expect(stderr).toContain(bob)
  expect(stderr).not.toContain(cleo)
  const [row] = await t.app.sql<{ count: number }>(
    `select count(*)::int as count from messages where account_id = $1 and error = 'cancelled'`,
    [account.id],
  )
  expect(row!.count).toBe(2)
})

const cancelNow = (id: string) => t.app.work(account.id, 'cli:test', (work) => cancelSend(work, id))

test('cancelled while a job has loaded it, it is not sent', async () => {
  const { body } = await ok(send({ scheduledAt: later(), cc: [bob] }))
  await comeDue()
  let cancelled = 0
  await drainWith(async (name) => {
    if (name === 'load-messages' && cancelled++ === 0) await cancelNow(body.id)
  })
  expect(await rowsOf()).toMatchObject(Array(2).fill({ status: 'failed', error: 'cancelled' }))
  expect([cancelled > 0, sink.mails, await uses('sends')]).toEqual([true, [], 0])
})

test('once a connection has taken it, it cannot be cancelled', async () => {
  const { body } = await ok(send({ scheduledAt: later() }))
  await comeDue()
  let refusal: unknown = null
  await drainWith(async (name) => {
    if (name === 'record-messages') refusal ??= await cancelNow(body.id).catch((error) => error)
  })
  expect(refusal).toMatchObject({ kind: 'conflict', message: `The send ${body.id} is being sent` })
  expect([(await rowsOf())[0]!.status, sink.mails.length, await uses('sends')]).toEqual(['sent', 1, 1])
})

test('of many that are cancelled while a job sends them, each is either sent or cancelled, and counted so', async () => {
  const addresses = Array.from({ length: 60 }, (_, i) => `p${i}@people.example`)
  const sent = await Promise.all(addresses.map((to) => send({ to, scheduledAt: later() })))
  await comeDue()
  const drained = drainWith(async () => {})
  const cancelled = await Promise.all(
    sent.map(async ({ body: { id } }, i) => {
      await sleep(i * 5)
      return cancelNow(id).then(
        () => id,
        () => null,
      )
    }),
  )
  await drained
  const rows = await rowsOf()
  const idsOf = (status: string) => rows.flatMap((row) => (row.status === status ? row.id : [])).sort()
  expect(idsOf('failed')).toEqual(cancelled.filter((id) => id !== null).sort())
  expect(idsOf('sent').length).toBe(60 - idsOf('failed').length)
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(idsOf('sent').length)
  expect([sink.mails.length, await uses('sends')]).toEqual([idsOf('sent').length, idsOf('sent').length])
})

test('two cancellations at once give the volume back once', async () => {
  const { body } = await ok(send({ scheduledAt: later() }))
  const ends = await Promise.allSettled([1, 2].map(() => cancelNow(body.id)))
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await uses('sends')).toBe(0)
})

test('`svc send --at` takes a time or a duration', async () => {
  const sending = (at: string) => svcSend(t, account, '--to', 'ada@people.example', '--at', at)
  expect((await sending('2d')).json).toMatchObject({ status: 'pending' })
  expect((await sending('2001-01-01T00:00:00Z')).status).toBe(2)
  expect((await sending('soon')).status).toBe(2)
  expect(await rowsOf()).toHaveLength(1)
})
