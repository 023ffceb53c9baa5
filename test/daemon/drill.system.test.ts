import { beforeAll, expect, test } from 'vitest'
import { setRelay } from '../../src/senders/relays.ts'
import { useApp } from '../support/app.ts'
import { audience } from '../support/broadcasts.ts'
import { startSvc, svc } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { deliveriesOf, emitEvents, eventually, subscribe, tally } from '../support/deliveries.ts'
import { holdUp } from '../support/hold.ts'
import { type JourneyBench, journeyBench } from '../support/journeys.ts'
import { queueMany, sendingAccount, tallyMessages } from '../support/messages.ts'
import { keyOf } from '../support/neighbours.ts'
import { useReceiver } from '../support/receiver.ts'
import { useSink } from '../support/smtp.ts'
import { hour, makeWebinar } from '../webinars/support.ts'

// kill -9 of a real daemon in the middle of everything that it does; the next one resumes each kind of work.

const events = 300
// A broadcast takes more than three batches: of the command, and of each daemon.
const people = { messages: 150, runs: 60, broadcast: 1600, webinar: 100, bookings: 60 }
const relayConnections = 5

const receiver = useReceiver()
const sink = useSink()
const t = useApp(() => ({
  env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: sink.url, SVC_LOG_LEVEL: 'error' },
  development: true,
}))

let accounts: Record<'deliveries' | 'messages' | 'broadcast' | 'webinar' | 'bookings', { id: string }>
let bench: JourneyBench
let journey: string
/** The posts of the killed daemon that had no answer. */
let unanswered: string[]

const countOf = async (statement: string, id: string) =>
  (await t.app.sql<{ count: number; people: number }>(statement, [id]))[0]!
const messagesOf = (id: string) =>
  countOf('select count(*) as count, count(distinct email) as people from messages where account_id = $1', id)

/** Queues work of every kind, of which nothing is due before `t.advance(hour)` that a daemon would do at once. */
const prepare = async () => {
  const deliveries = await t.account()
  await subscribe(t.app, deliveries.id, receiver.url)
  const messages = await sendingAccount(t)
  const { account: broadcast } = await audience(t, people.broadcast)
  // No relay takes the messages of the broadcast, because the test checks the queue.
  const none = { url: 'smtp://127.0.0.1:9', password: null, bounceAddress: null }
  await t.app.work(broadcast.id, 'cli:test', (work) => setRelay(t.app, work, none))
  const [webinar, bookings] = [await sendingAccount(t), await sendingAccount(t)]
  accounts = { deliveries, messages, broadcast, webinar, bookings }

  bench = await journeyBench(t)
  const leads = await bench.list('Leads')
  await bench.stages()
  const steps = [
    { kind: 'update-field', field: 'seen', value: 'yes' },
    { kind: 'create-deal', title: 'Of {{ email }}' },
  ]
  journey = await bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, steps })
  await bench.add(
    leads,
    Array.from({ length: people.runs }, (_, i) => `c${i}@example.com`),
  )

  const now = t.app.now().getTime()
  const { id } = await makeWebinar(t, webinar, { scheduledAt: now + 24 * hour })
  await t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select $1, 'reg_' || n || $2, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3, $3 from generate_series(1, $4) n`,
    [webinar.id, id, new Date(now), people.webinar],
  )
  await t.app.sql(
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email,
       sequence, remind_at, created_at, updated_at)
     select $1, 'bkg_' || n, 'prj_1', 'msg_' || n, 'call', 'confirmed', 'A call', $2::timestamptz + interval '1 day',
       $2::timestamptz + interval '25 hours', 'UTC', 'P', 'b' || n || '@people.example', 0, $2, $2, $2
     from generate_series(1, $3) n`,
    [bookings.id, new Date(now), people.bookings],
  )
  await emitEvents(t.app, deliveries.id, events)
  await queueMany(t.app, messages.id, people.messages)
}

beforeAll(async () => {
  await prepare()
  // The command that sends the broadcast is killed first.
  const sending = await holdUp(t, 'update on broadcasts', { when: 'new.status = old.status', after: 1 })
  const send = ['broadcasts', 'create', '--list', 'People', '--project', 'Spring', '--send', '--yes']
  const command = startSvc(t, [...send, '--account', accounts.broadcast.id])
  await sending.reached()
  command.kill('SIGKILL')
  await sending.end()
  const early = (await messagesOf(accounts.broadcast.id)).count
  expect([early > 0, early < people.broadcast]).toEqual([true, true])

  const holds = await Promise.all([
    holdUp(t, 'update on broadcasts', { when: 'new.status = old.status', after: 1 }),
    holdUp(t, 'insert on journey_step_log', { after: people.runs }),
    holdUp(t, 'insert on messages', { when: `new.subject = 'Reminder: Live!'`, after: people.webinar / 2 }),
    holdUp(t, 'insert on messages', { when: `new.key like 'booking-reminder:%'`, after: people.bookings / 2 }),
  ])
  receiver.next(...Array(100).fill({}))
  receiver.always({ mode: 'hang' })
  sink.next(...Array(50).fill({}))
  sink.always({ hang: 'data' })
  const first = await startDaemon(t)
  await receiver.arrived(101)
  await eventually(() => sink.begun > 50)
  for (const { reached } of holds) await reached()
  await first.kill('SIGKILL')
  for (const { end } of holds) await end()
  // A post that left before the kill may be read after it.
  await eventually(() => receiver.open === 0)
  const answered = new Set(
    (await deliveriesOf(t.app, accounts.deliveries.id))
      .filter(({ status }) => status !== 'pending')
      .map(({ eventId }) => eventId),
  )
  unanswered = receiver.requests.map(keyOf).filter((key) => !answered.has(key))

  receiver.always({})
  sink.always({})
  await startDaemon(t)
  await eventually(async () => (await tally(t.app, accounts.deliveries.id)).delivered === events)
  const openRuns = `select count(*) from journey_runs where account_id = $1 and status <> 'completed'`
  await eventually(async () => (await countOf(openRuns, bench.account.id)).count === 0)
  for (const kind of ['broadcast', 'webinar', 'bookings'] as const)
    await eventually(async () => (await messagesOf(accounts[kind].id)).count >= people[kind])
  const waiting = () => t.app.sql('select from message_queue where account_id <> $1 limit 1', [accounts.broadcast.id])
  await eventually(async () => (await waiting()).length === 0)
})

test('deliveries: each event is delivered, and only posts without an answer are repeated', async () => {
  const keys = receiver.requests.map(keyOf)
  expect(new Set(keys).size).toBe(events)
  const repeated = keys.filter((key, i) => keys.indexOf(key) < i)
  const rows = await deliveriesOf(t.app, accounts.deliveries.id)
  // On a busy machine a post may time out, which its attempts record.
  const failed = rows.filter(({ attempts }) => attempts.some(({ error }) => error)).map(({ eventId }) => eventId)
  expect(repeated.filter((key) => !unanswered.includes(key) && !failed.includes(key))).toEqual([])
})

test('messages: each is sent at most once, and at most one for each connection to the relay is in doubt', async () => {
  const tallies = await Promise.all(Object.values(accounts).map(({ id }) => tallyMessages(t.app, id)))
  expect(tallies[1]!.sent! + (tallies[1]!.failed ?? 0)).toBe(people.messages)
  const sum = (status: string) => tallies.reduce((total, one) => total + (one[status] ?? 0), 0)
  expect(sum('failed')).toBeLessThanOrEqual(relayConnections)
  expect(sink.mails.length).toBeGreaterThanOrEqual(sum('sent'))
  const ids = sink.mails.map((mail) => mail.header('message-id'))
  expect(new Set(ids).size).toBe(ids.length)
})

test('journeys: each run does each step once', async () => {
  const runs = await bench.runs(journey)
  expect(runs).toHaveLength(people.runs)
  expect(runs.every(({ log }) => log.map(({ kind }) => kind).join() === 'update-field,create-deal')).toBe(true)
  const deals = 'select count(*) as count, count(distinct title) as people from deals where account_id = $1'
  expect(await countOf(deals, bench.account.id)).toEqual({ count: people.runs, people: people.runs })
})

test('broadcasts: each contact has one message, which counts once', async () => {
  const { id } = accounts.broadcast
  expect(await messagesOf(id)).toEqual({ count: people.broadcast, people: people.broadcast })
  const { json } = await svc(t, ['broadcasts', 'list', '--account', id, '--json'])
  const { recipients, queued, sent, failed } = json.broadcasts[0]
  expect([recipients, queued + failed, sent]).toEqual([people.broadcast, people.broadcast, 0])
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [id])
  expect(use).toEqual({ used: people.broadcast })
})

test.each(['webinar', 'bookings'] as const)('reminders (%s): each person gets one', async (kind) => {
  expect(await messagesOf(accounts[kind].id)).toEqual({ count: people[kind], people: people[kind] })
})
