import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { deliveriesChannel } from '../../src/deliveries/deliveries.ts'
import { runJourneys } from '../../src/journeys/engine/runs.loop.ts'
import { finishJourneyDeletions } from '../../src/journeys/journeys.cancel.ts'
import { purgeVersions } from '../../src/journeys/journeys.purge.ts'
import { countJourneyRemoval, deleteJourney, endRun, listRuns, startJourneys } from '../../src/journeys/journeys.ts'
import { queueMessage } from '../../src/messages/messages.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { ok, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now, env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

const setField = { kind: 'update-field', field: 'seen', value: 'yes' }
const wait = { kind: 'delay', for: '1d' }
const onAdded = (steps: object[], name = 'J') =>
  bench.apply({ name, trigger: { kind: 'list-added', list: 'Leads' }, steps })
const planned = (id: string) => bench.work((work) => countJourneyRemoval(work, id))
const removeAll = (id: string, more: object = {}) =>
  deleteJourney(target.app, bench.account.id, id, { actor: 'cli:test', ...more })
const remove = async (id: string, more: object = {}) => (await removeAll(id, more)).cancelled
const end = (id: string) => bench.work((work) => endRun(work, id))
const people = (count: number, prefix = 'p') =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(4, '0')}@example.com`)
const statusesOf = async (id: string) => Object.groupBy(await bench.runs(id), ({ status }) => status)
const seen = () => target.app.sql(`select from contacts where account_id = $1 and fields ? 'seen'`, [bench.account.id])
const completed = async () => {
  const events = (await target.events(bench.account.id)).filter(({ type }) => type === 'journey.completed')
  return events.map(({ data }) => (data as unknown as { journey: { id: string } }).journey.id)
}

test('a deleted journey is gone at once, its open runs are cancelled, others stay, and no event fires', async () => {
  const journey = await onAdded([wait, setField])
  const other = await onAdded([wait], 'Other')
  await bench.subscribe('journey.completed')
  await bench.add(listId, people(3))
  await bench.drain()
  const [done] = await bench.runs(journey)
  await target.app.sql(`update journey_runs set status = 'completed', cursor = null, ended_at = due_at where id = $1`, [
    done!.id,
  ])
  expect(await remove(journey)).toBe(2)
  const { completed: kept, cancelled } = await statusesOf(journey)
  expect([kept!.length, cancelled!.length]).toEqual([1, 2])
  expect(cancelled![0]).toMatchObject({ reason: 'the journey was deleted' })
  const { body } = await ok(target.request('GET', '/journeys', { key: bench.account.key }))
  expect(body.journeys.map(({ id }: { id: string }) => id)).toEqual([other])
  const trigger = await target.request('POST', `/journeys/${journey}/trigger`, {
    key: bench.account.key,
    body: { email: 'x@example.com', listId },
  })
  expect(trigger.status).toBe(404)
  clock.advance(2 * day)
  await bench.add(listId, people(2, 'late'))
  await bench.drain()
  expect([(await bench.runs(journey)).length, (await seen()).length]).toEqual([3, 0])
  expect(new Set(await completed())).toEqual(new Set([other]))
  expect((await statusesOf(other)).completed).toHaveLength(3)
  await expect(remove(journey)).rejects.toMatchObject({ kind: 'not_found' })
  // The name is free.
  expect(await onAdded([setField])).not.toBe(journey)
  expect(await target.app.sql('select from journey_versions where journey_id = $1', [journey])).toEqual([])
})

test('another account can neither delete the journey nor end its runs', async () => {
  const journey = await onAdded([wait])
  await bench.add(listId, people(1))
  const stranger = await target.account()
  const deletion = deleteJourney(target.app, stranger.id, journey, { actor: 'cli:test' })
  await expect(deletion).rejects.toMatchObject({ kind: 'not_found' })
  const [run] = await bench.runs(journey)
  const ending = target.app.work(stranger.id, 'cli:test', (work) => endRun(work, run!.id))
  await expect(ending).rejects.toMatchObject({ kind: 'not_found' })
  expect((await bench.runs(journey))[0]!.status).toBe('running')
})

test('of two deletions at once, one deletes the journey', async () => {
  const journey = await onAdded([wait])
  await bench.add(listId, people(20))
  await bench.drain()
  const done = await Promise.allSettled([remove(journey), remove(journey)])
  expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect((await statusesOf(journey)).cancelled).toHaveLength(20)
})

test('a deletion that was interrupted after its first transaction: no run does another step, and the housekeeping cancels the rest', async () => {
  const journey = await onAdded([wait, setField, wait])
  const later = await bench.apply({
    name: 'Later',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [{ kind: 'delay', for: '30d' }, setField],
  })
  await bench.add(listId, people(40))
  await bench.drain()
  const stopped = { signal: AbortSignal.abort() }
  expect([await remove(journey, stopped), await remove(later, stopped)]).toEqual([0, 0])
  expect([(await statusesOf(journey)).waiting!.length, (await statusesOf(later)).waiting!.length]).toEqual([40, 40])
  clock.advance(day)
  await bench.drain()
  expect(await seen()).toEqual([])
  expect((await statusesOf(journey)).cancelled).toHaveLength(40)
  expect((await statusesOf(later)).waiting).toHaveLength(40)
  await runHousekeeping(target.app, new AbortController().signal)
  expect((await statusesOf(later)).cancelled).toHaveLength(40)
  await runHousekeeping(target.app, new AbortController().signal)
  expect(await target.app.sql('select from journey_versions where account_id = $1', [bench.account.id])).toEqual([])
})

test('a step that is being done while its journey is deleted is done before, or rolled back', async () => {
  const journey = await onAdded([setField, wait])
  const emails = people(200)
  await bench.add(listId, emails)
  await Promise.all([bench.drain(), remove(journey)])
  clock.advance(2 * day)
  await bench.drain()
  const runs = await bench.runs(journey)
  expect(runs).toHaveLength(emails.length)
  expect(runs.every(({ status }) => status === 'cancelled')).toBe(true)
  const logged = runs.filter(({ log }) => log.length > 0)
  expect((await seen()).length).toBe(logged.length)
})

test('a contact that enters at the moment of the deletion does no step', async () => {
  const journey = await onAdded([setField])
  await bench.add(await bench.list('Quiet'), ['ada@example.com'])
  const [contact] = await bench.contacts('ada@example.com')
  await bench.work(async (work) => {
    await startJourneys(work, {
      kind: 'list-added',
      key: listId,
      entrant: { listId: contact!.listId, rowId: contact!.rowId, email: 'ada@example.com' },
    })
    expect(await remove(journey)).toBe(0)
  })
  await bench.drain()
  expect(await bench.runs(journey)).toMatchObject([{ status: 'cancelled', log: [] }])
})

test('end-run cancels one run; a run that has ended is refused', async () => {
  const journey = await onAdded([wait, setField])
  await bench.add(listId, people(2))
  await bench.drain()
  const [first, second] = await bench.runs(journey)
  expect(await end(first!.id)).toMatchObject({
    id: first!.id,
    status: 'cancelled',
    reason: 'ended by cli:test',
    step: null,
    dueAt: null,
    endedAt: clock.now().getTime(),
    log: [],
  })
  await expect(end(first!.id)).rejects.toMatchObject({
    kind: 'conflict',
    message: `The run ${first!.id} has ended: it is cancelled`,
  })
  await expect(end('run_none')).rejects.toMatchObject({ kind: 'not_found' })
  clock.advance(2 * day)
  await bench.drain()
  expect((await bench.runs(journey)).map(({ status }) => status)).toEqual(['cancelled', 'completed'])
  await expect(end(second!.id)).rejects.toMatchObject({ kind: 'conflict' })
  expect(await seen()).toHaveLength(1)
  const request = { journeyId: journey, status: 'cancelled' as const, limit: 10 }
  expect((await bench.work((work) => listRuns(work, request))).rows.map(({ id }) => id)).toEqual([first!.id])
})

test('of two ends of a run at once, one ends it', async () => {
  const journey = await onAdded([wait])
  await bench.add(listId, people(1))
  const [run] = await bench.runs(journey)
  const held = await bench.work(async (work) => {
    await work.sql('select from journey_runs where id = $1 for update', [run!.id])
    const ends = Promise.allSettled([end(run!.id), end(run!.id)])
    await untilLocked(target.app.database, 2)
    return { ends }
  })
  expect((await held.ends).map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})

test.each(['end-run', 'delete'])('%s cancels the calls that runs wait for', async (verb) => {
  const journey = await onAdded([{ kind: 'webhook', url: 'https://hooks.example.com/x' }, setField])
  await bench.add(listId, people(1))
  const stop = new AbortController()
  const engine = runJourneys(target.app, stop.signal, { sendMails: async () => [] })
  await expect.poll(() => bench.runs(journey)).toMatchObject([{ status: 'waiting' }])
  stop.abort()
  await engine
  const [run] = await bench.runs(journey)
  const heard: string[] = []
  onTestFinished(target.app.database.notices.hear([deliveriesChannel], ({ payload }) => heard.push(payload)))
  if (verb === 'delete') {
    const counts = await planned(journey)
    expect(counts).toEqual({ cancelled: 1, calls: 1, emails: 0 })
    expect(await removeAll(journey)).toEqual(counts)
  } else await end(run!.id)
  expect(await bench.runs(journey)).toMatchObject([{ status: 'cancelled' }])
  const pending = await target.app.sql('select from pending_deliveries where account_id = $1', [bench.account.id])
  const ended = await target.app.sql<{ status: string; target: string }>(
    'select status, target_id as target from ended_deliveries where account_id = $1',
    [bench.account.id],
  )
  expect([pending, ended.map(({ status }) => status)]).toEqual([[], ['cancelled']])
  // So that no job posts it that has claimed it already.
  expect(heard).toEqual([`-${ended[0]!.target}`])
})

describe('emails that are not sent yet', () => {
  const queued = async () => {
    const rows = await target.app.sql<{ status: string; error: string | null }>(
      'select status, error from messages where account_id = $1 order by id',
      [bench.account.id],
    )
    const left = await target.app.sql('select from message_queue where account_id = $1', [bench.account.id])
    return { rows, left: left.length }
  }
  const sends = async () =>
    (
      await target.app.sql<{ used: number }>(
        `select coalesce(sum(used), 0)::int as used from quota_uses where account_id = $1 and quota = 'sends'`,
        [bench.account.id],
      )
    )[0]!.used

  beforeEach(async () => {
    await target.app.sql(
      `insert into mail_domains (domain, finding, expires_at) values ('example.com', 'mx', '2030-01-01')
       on conflict (domain) do update set finding = 'mx', expires_at = '2030-01-01'`,
    )
  })

  /** A journey whose only step queues an email; its runs have completed or wait after it. */
  const mailed = async (steps: object[]) => {
    await bench.work((work) => addSender(work, { email: 'hello@shop.example', name: 'The Shop' }))
    const [project] = await bench.work((work) =>
      applyProjects(work, [{ name: 'Hello', theme: {}, blocks: [{ id: 't', type: 'text', props: { text: 'Hi' } }] }]),
    )
    const journey = await onAdded([{ kind: 'send-email', project: project!.id }, ...steps])
    await bench.add(listId, people(3))
    await bench.drain()
    expect((await queued()).rows.map(({ status, error }) => [status, error])).toEqual(Array(3).fill(['pending', null]))
    return journey
  }

  test.each([
    ['completed', []],
    ['open', [wait]],
  ])(
    'the deletion withdraws those of %s runs, also after an interruption, and returns their quota',
    async (_, steps) => {
      const journey = await mailed(steps)
      const other = await bench.work((work) =>
        queueMessage(target.app, work, {
          to: 'other@example.com',
          type: 'transactional',
          key: 'run:other:0',
          source: { kind: 'journey', id: 'jrn_other' },
          subject: 'Hi',
          content: { html: '<p>Hi</p>', text: 'Hi' },
        }),
      )
      expect(other).toMatchObject({ status: 'pending' })
      expect(await sends()).toBe(4)
      await remove(journey, { signal: AbortSignal.abort() })
      expect((await queued()).left).toBe(4)
      await purgeVersions(target.app)
      await finishJourneyDeletions(target.app, {})
      const { rows, left } = await queued()
      expect([left, await sends()]).toEqual([1, 1])
      expect(rows.filter(({ error }) => error === 'The journey was deleted')).toHaveLength(3)
      expect(await target.app.sql('select from journey_versions where journey_id = $1', [journey])).toEqual([])
    },
  )

  test('the question counts those that the deletion withdraws', async () => {
    const journey = await mailed([wait])
    const counts = await planned(journey)
    expect([counts, (await queued()).left]).toEqual([{ cancelled: 3, calls: 0, emails: 3 }, 3])
    expect(await removeAll(journey)).toEqual(counts)
  })

  test('end-run withdraws those of its run only', async () => {
    const journey = await mailed([wait])
    const [run] = await bench.runs(journey)
    await end(run!.id)
    const { rows, left } = await queued()
    expect([left, await sends()]).toEqual([2, 2])
    expect(rows.filter(({ status, error }) => status === 'failed' && error === 'The run was ended')).toHaveLength(1)
  })
})
