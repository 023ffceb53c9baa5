import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findDue, isAnythingDue } from '../../src/journeys/engine/runs.due.ts'
import { takeRuns } from '../../src/journeys/engine/runs.take.ts'
import { holdQueues, type QueueName, queueNames } from '../../src/queue/holds.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { emitEvents, latePosts, startDeliveries, subscribe, tally } from '../support/deliveries.ts'
import { eventually } from '../support/eventually.ts'
import { journeyBench } from '../support/journeys.ts'
import { freeform, messagesOf, queueMany, sendingAccount, startMail, tallyMessages } from '../support/messages.ts'
import { useReceiver } from '../support/receiver.ts'
import { openSink, type Sink } from '../support/smtp.ts'

const port = await freePort()
const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: `smtp://127.0.0.1:${port}` } })
let loops: { stop(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()))
  loops = []
  await t.app.sql('delete from queue_holds')
})

const queues = async (...args: string[]) => {
  const ran = await svc(t, ['queues', ...args, '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  return ran.json
}
const pause = (queue: QueueName) => queues('pause', queue)
const resume = (queue: QueueName) => queues('resume', queue, '--yes')

/** Waits for heartbeats of all workers of a job: each reads whether the queue is paused, and wakes the loop if anything is due. */
const heartbeats = async (job: string, count = 2) => {
  const seen = async () =>
    (await t.app.sql<{ at: string }>('select seen_at::text as at from workers where job = $1 order by id', [job])).map(
      ({ at }) => at,
    )
  for (let i = 0; i < count; i++) {
    const before = await seen()
    await eventually(async () => {
      const now = await seen()
      return now.length > 0 && now.every((at, place) => at !== before[place])
    })
  }
}

describe('deliveries', () => {
  const receiver = useReceiver()
  const claims = (accountId: string) =>
    t.app.sql<{ claim: number; worker: number | null }>(
      'select claim, worker from deliveries where account_id = $1 order by id',
      [accountId],
    )

  test('a paused queue claims nothing; resumed, it posts each delivery once, by its first claim', async () => {
    const account = await t.account()
    await subscribe(t.app, account.id, receiver.url)
    expect(await pause('deliveries')).toEqual({
      ...{ queue: 'deliveries', state: 'paused', since: expect.any(Number), pending: 0, oldestSeconds: 0 },
    })
    await emitEvents(t.app, account.id, 5)
    loops.push(startDeliveries(t.app), startDeliveries(t.app))
    await heartbeats('deliveries')
    await emitEvents(t.app, account.id, 5)
    await heartbeats('deliveries')
    expect(await claims(account.id)).toEqual(Array(10).fill({ claim: 0, worker: null }))
    expect(receiver.requests).toHaveLength(0)
    expect(await queues('show', 'deliveries')).toMatchObject({ state: 'paused', pending: 10 })
    expect(await resume('deliveries')).toMatchObject({ state: 'running', since: null, pending: 10 })
    await eventually(async () => (await tally(t.app, account.id)).delivered === 10)
    expect((await claims(account.id)).map(({ claim }) => claim)).toEqual(Array(10).fill(1))
    expect(new Set(receiver.requests.map(({ headers }) => headers['x-service-idempotency-key'])).size).toBe(10)
  })

  test('a pause under load: posts in flight finish, all other claims go back, and each is posted once', async () => {
    const account = await t.account()
    await subscribe(t.app, account.id, receiver.url)
    const before = receiver.requests.length
    receiver.always({ delayMs: 50 })
    loops.push(startDeliveries(t.app))
    await emitEvents(t.app, account.id, 400)
    await receiver.arrived(before + 20)
    // However long the command takes, the queue is not empty by then.
    const paused = Promise.withResolvers<void>()
    receiver.always({ delayMs: 50, until: paused.promise })
    await pause('deliveries')
    paused.resolve()
    await heartbeats('deliveries')
    await eventually(async () => (await claims(account.id)).every(({ worker }) => worker === null))
    const posted = receiver.requests.length
    expect(posted - before).toBeLessThan(400)
    await heartbeats('deliveries')
    expect(receiver.requests).toHaveLength(posted)
    const late = () => latePosts(t.app, account.id)
    expect(((await tally(t.app, account.id)).delivered ?? 0) + (await late())).toBe(posted - before)
    receiver.always({})
    await resume('deliveries')
    await eventually(async () => (await tally(t.app, account.id)).delivered === 400)
    expect(receiver.requests).toHaveLength(before + 400 + (await late()))
  })
})

describe('sends', () => {
  let sink: Sink
  beforeEach(async () => {
    sink = await openSink({ port })
  })
  afterEach(() => sink.close())

  test('POST /send answers pending while they are paused, its repetition too; resumed, each email leaves once', async () => {
    const account = await sendingAccount(t)
    const send = (key: string, more: object = {}) =>
      t.request('POST', '/send', {
        key: account.key,
        body: freeform(more),
        headers: { 'idempotency-key': key },
      })
    // The process has its sender, which learns of the pause by a notice or its next heartbeat.
    expect((await send('before')).body.status).toBe('sent')
    await pause('sends')
    await heartbeats('mail')
    const { status, body } = await send('one', { cc: ['cc@people.example'] })
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^msg_/), status: 'pending' }])
    const again = await send('one', { cc: ['cc@people.example'] })
    expect([again.body, again.headers['idempotent-replayed']]).toEqual([body, 'true'])
    await queueMany(t.app, account.id, 5)
    loops.push(startMail(t.app))
    await heartbeats('mail')
    expect((await messagesOf(t.app, account.id)).filter(({ state }) => state === 'queued')).toHaveLength(7)
    const rows = await t.app.sql('select claim from message_queue where account_id = $1', [account.id])
    expect(rows).toEqual(Array(7).fill({ claim: 0 }))
    await resume('sends')
    await eventually(async () => (await tallyMessages(t.app, account.id)).sent === 8)
    expect((await sink.arrived(8)).flatMap(({ to }) => to).toSorted()).toEqual(
      ['ada', 'ada', 'cc', 'person0', 'person1', 'person2', 'person3', 'person4'].map(
        (name) => `${name}@people.example`,
      ),
    )
    expect((await send('after')).body.status).toBe('sent')
  })

  test('a pause under load: what a relay has not taken goes back, and each email leaves once', async () => {
    const account = await sendingAccount(t)
    sink.always({ delayMs: 50 })
    loops.push(startMail(t.app))
    await queueMany(t.app, account.id, 100)
    await sink.arrived(10)
    // However long the command takes, the queue is not empty by then.
    const paused = Promise.withResolvers<void>()
    sink.always({ until: paused.promise })
    await pause('sends')
    paused.resolve()
    await heartbeats('mail')
    await eventually(async () =>
      (await messagesOf(t.app, account.id)).every(({ state }) => state === null || state === 'queued'),
    )
    const sent = sink.mails.length
    expect(sent).toBeLessThan(100)
    await heartbeats('mail')
    expect(sink.mails).toHaveLength(sent)
    sink.always({})
    await resume('sends')
    await eventually(async () => (await tallyMessages(t.app, account.id)).sent === 100)
    expect(new Set(sink.mails.flatMap(({ to }) => to)).size).toBe(100)
    expect(sink.mails).toHaveLength(100)
  })
})

test('journeys: a paused queue finds and takes no run; resumed, each step is done once', async () => {
  const bench = await journeyBench(t)
  const listId = await bench.list('Leads')
  const journeyId = await bench.apply({
    name: 'Tag',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }],
  })
  await bench.add(listId, ['a@example.com', 'b@example.com'])
  const capacity = { total: 100, accounts: new Map(), accountDefault: 100, except: [] }
  const due = await findDue(t.app.database, t.app.now(), capacity)
  expect(due.runs).toHaveLength(2)
  await pause('journeys')
  expect(await isAnythingDue(t.app.sql, t.app.now())).toBe(false)
  expect((await findDue(t.app.database, t.app.now(), capacity)).runs).toEqual([])
  // A process that found them before the pause.
  const ids = due.runs.map(({ id }) => id)
  expect(await bench.work((work) => takeRuns(work, journeyId, ids))).toEqual([])
  expect((await bench.runs(journeyId)).map(({ log }) => log)).toEqual([[], []])
  await resume('journeys')
  await bench.drain()
  for (const run of await bench.runs(journeyId)) {
    expect(run).toMatchObject({ status: 'completed' })
    expect(run.log).toHaveLength(1)
  }
})

describe('svc queues', () => {
  test('show lists all queues; pause and resume without a name mean all', async () => {
    const states = async (of: Promise<{ queues: { queue: string; state: string }[] }>) =>
      (await of).queues.map(({ queue, state }) => [queue, state])
    const all = (state: string) => queueNames.map((queue) => [queue, state])
    expect(await states(queues())).toEqual(all('running'))
    expect(await states(queues('pause'))).toEqual(all('paused'))
    const { since } = await queues('show', 'sends')
    expect((await queues('pause', 'sends')).since).toBe(since)
    expect(await states(queues('resume', '--dry-run').then(() => queues('show')))).toEqual(all('paused'))
    expect(await states(queues('resume', '--yes'))).toEqual(all('running'))
    expect(await states(queues('pause', '--dry-run').then(() => queues('show')))).toEqual(all('running'))
  })

  test('resume of a paused queue needs --yes without a terminal; an unknown name is exit 3', async () => {
    await holdQueues(t.app.sql, ['sends'])
    expect((await svc(t, ['queues', 'resume', 'sends'])).status).toBe(2)
    expect((await svc(t, ['queues', 'resume', 'deliveries'])).status).toBe(0)
    const unknown = await svc(t, ['queues', 'show', 'mail'])
    expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining('deliveries, journeys, sends')])
  })
})
