import { activeAccounts } from '../accounts/accounts.rows.ts'
import { cancelCalls } from '../deliveries/deliveries.ts'
import { conflict, noSuch, shown } from '../lib/problem.ts'
import { continueDeletions, type Deletion, defineJob, inBatches } from '../store/background.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { journeyRuns } from './journeys.columns.ts'
import { lockFiles } from './journeys.find.ts'
import { type RunDetail, showRun } from './journeys.runs.ts'
import { endingAs } from './journeys.wake.ts'

/*
 * Runs that an operator ends, and the deletion of journeys. A journey may have millions of runs. The first transaction deletes the
 * journey: no contact enters it any more, its name is free, and the engine cancels each of its runs that becomes due, instead of doing
 * the run's next step (journeys/engine/unit.ts). Then its open runs are cancelled and its queued emails withdrawn, in batches. Its
 * versions are deleted last, so that the housekeeping finds what is left to do if the process is killed.
 */

/** Maximum runs for each transaction. */
const batchSize = 500

const open = `status in ('running', 'waiting')`

const openRun = columns(journeyRuns, ['id', 'revision', 'deliveryId'], 'r')
/** An open run, as it was read, with the delivery that it waits for. */
type Open = RowOf<typeof openRun.types>

/** Loaded by the deletion of a journey or the end of a run only: the engine does not need it. */
const messages = () => import('../messages/messages.ts')

// As `endRuns`, the runs are locked in the order of their ids, after the deliveries.
const cancelOpenRuns = statement(
  'cancel-runs',
  {
    row: { id: 'text' },
    parameters: { accountId: 'text', ids: '_text', revisions: '_int4', reason: 'text', now: 'timestamptz' },
  },
  `with leaving as materialized (
     select locked.id from (
       select * from unnest(:ids::text[], :revisions::int[]) as i(id, revision) order by i.id collate "C"
     ) i cross join lateral (
       select id from journey_runs where account_id = :accountId and id = i.id and revision = i.revision and ${open} for no key update
     ) locked
   )
   update journey_runs r set ${endingAs('cancelled')}, reason = :reason, ended_at = :now
   from leaving where r.account_id = :accountId and r.id = leaving.id returning r.id`,
)

/** Cancels runs that have not changed since they were read, with the deliveries that they wait for. Returns how many. */
export const cancelRuns = async (
  work: Work,
  runs: readonly Open[],
  reason: string,
): Promise<{ cancelled: number; calls: number }> => {
  const { sql, accountId, now } = work
  const calls = await cancelCalls(
    work,
    runs.flatMap(({ deliveryId }) => deliveryId ?? []),
    { isManual: true },
  )
  const [ids, revisions] = [runs.map(({ id }) => id), runs.map(({ revision }) => revision)]
  return { cancelled: (await sql(cancelOpenRuns, { accountId, ids, revisions, reason, now })).length, calls }
}

/** Why the runs of a deleted journey ended. */
export const deletedReason = 'the journey was deleted'

const runToEnd = columns(journeyRuns, ['id', 'revision', 'deliveryId', 'journeyId', 'status', 'stepNo'])

const readRunToEnd = statement(
  'read-run-to-end',
  { row: runToEnd.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${runToEnd.list} from journey_runs where account_id = :accountId and id = :id`,
)

/**
 * Ends a run as cancelled, with the delivery that it waits for and its emails that are still queued. A step in progress is recorded
 * before, or rolled back. Throws Problem `not_found`, or `conflict` if the run has ended.
 */
export const endRun = async (work: Work, id: string): Promise<RunDetail> => {
  for (;;) {
    const [run] = await work.sql(readRunToEnd, { accountId: work.accountId, id })
    if (!run) throw noSuch('run', id, { hint: 'svc journeys list' })
    const { journeyId, status, stepNo } = run
    if (status !== 'running' && status !== 'waiting') throw conflict(`The run ${shown(id)} has ended: it is ${status}`)
    if ((await cancelRuns(work, [run], `ended by ${work.actor}`)).cancelled === 0) continue
    const { withdrawMails } = await messages()
    const keys = Array.from({ length: stepNo }, (_, step) => `run:${id}:${step}`)
    await withdrawMails(work, keys, 'The run was ended')
    return showRun(work, journeyId, id)
  }
}

/** Returns the SQL query of the open runs `r` of a journey. */
const openRuns = (limit = '') => `
  from journey_versions v cross join lateral (
    select id, revision, delivery_id from journey_runs
    where version = v.version and journey_id = v.journey_id and account_id || '' = :accountId and ${open} ${limit}
  ) r where v.account_id = :accountId and v.journey_id = :journeyId ${limit}`

const ofJourney = { accountId: 'text', journeyId: 'text' } as const

const readOpenRuns = statement(
  'newest-open-runs',
  {
    row: { id: 'text', email: 'text', journey: 'text', status: 'text' },
    parameters: { accountId: 'text', limit: 'int8' },
  },
  `select r.id, r.email, j.name as journey, r.status
   from journey_versions v join journeys j on j.account_id = v.account_id and j.id = v.journey_id cross join lateral (
     select id, email, status from journey_runs
     where version = v.version and journey_id = v.journey_id and account_id || '' = :accountId and ${open} order by id desc limit :limit
   ) r where v.account_id = :accountId order by r.id desc limit :limit`,
)

/** Returns the newest runs of the account that have not ended, with the names of their journeys. */
export const listOpenRuns = ({ sql, accountId }: Work, { limit }: { limit: number }) =>
  sql(readOpenRuns, { accountId, limit })

/** What the deletion of a journey ends with it. */
interface JourneyRemoval {
  /** Open runs. */
  cancelled: number
  /** Deliveries of steps that call a URL. */
  calls: number
  /** Emails that were not sent yet. */
  emails: number
}

const countOpenRuns = statement(
  'count-open-runs',
  { row: { cancelled: 'int8', calls: 'int8' }, parameters: ofJourney },
  `select count(*) as cancelled, count(r.delivery_id) as calls ${openRuns()}`,
)

/** Counts what the deletion of a journey would end. */
export const countJourneyRemoval = async (work: Work, journeyId: string): Promise<JourneyRemoval> => {
  const { countMailsOf } = await messages()
  const [open] = await work.sql(countOpenRuns, { accountId: work.accountId, journeyId })
  return { ...open!, emails: await countMailsOf(work, { kind: 'journey', id: journeyId }) }
}

const findOpenRuns = statement(
  'find-open-runs',
  { row: openRun.types, parameters: ofJourney },
  `select ${openRun.list} ${openRuns(`limit ${batchSize}`)}`,
)

const forgetVersions = statement(
  'forget-journey-versions',
  { parameters: ofJourney },
  `with exits as (delete from journey_exits where account_id = :accountId and journey_id = :journeyId)
   delete from journey_versions where account_id = :accountId and journey_id = :journeyId`,
)

/**
 * Cancels the open runs of a deleted journey, then withdraws its queued emails, then deletes its versions. A run that changes meanwhile
 * is found again. Returns what it ended.
 */
const sweep = async (
  app: Pick<App, 'work'>,
  accountId: string,
  journeyId: string,
  { actor, signal, onBatch }: Deletion,
): Promise<JourneyRemoval> => {
  const removal = { cancelled: 0, calls: 0, emails: 0 }
  const batch = () =>
    app.work(accountId, actor, async (work) => {
      const runs = await work.sql(findOpenRuns, { accountId, journeyId })
      const ended = runs.length > 0 ? await cancelRuns(work, runs, deletedReason) : { cancelled: 0, calls: 0 }
      return { found: runs.length, ...ended }
    })
  await inBatches(
    1,
    async () => {
      const { found, cancelled, calls } = await batch()
      removal.cancelled += cancelled
      removal.calls += calls
      onBatch?.(removal.cancelled)
      return found
    },
    signal,
  )
  const { withdrawMailsOf } = await messages()
  const source = { kind: 'journey', id: journeyId } as const
  for (let after: string | null = ''; after !== null && !signal?.aborted; ) {
    const from: string = after
    const page = await app.work(accountId, actor, (work) =>
      withdrawMailsOf(work, source, from, 'The journey was deleted'),
    )
    removal.emails += page.emails
    after = page.last
  }
  if (!signal?.aborted) await app.work(accountId, actor, ({ sql }) => sql(forgetVersions, { accountId, journeyId }))
  return removal
}

const close = async (work: Work, id: string): Promise<void> => {
  await lockFiles(work)
  const [em, { Journey, JourneyVersion }] = await work.em(import('./journeys.entities.ts'))
  if ((await em.nativeDelete(Journey, { id })) === 0) throw noSuch('journey', id, { hint: 'svc journeys list' })
  await em.nativeUpdate(JourneyVersion, { journeyId: id }, { lookAt: work.now })
}

/**
 * Deletes a journey (id). From the first transaction on it does not exist and none of its runs begins another step; its open runs
 * end as cancelled, its queued emails as failed, and its ended runs stay as records. It fires no event. Returns what it ended.
 * Throws Problem `not_found`.
 */
export const deleteJourney = async (
  app: Pick<App, 'work'>,
  accountId: string,
  id: string,
  deletion: Deletion,
): Promise<JourneyRemoval> => {
  await app.work(accountId, deletion.actor, (work) => close(work, id))
  return sweep(app, accountId, id, deletion)
}

const findUnfinishedDeletions = statement(
  'unfinished-journey-deletions',
  { row: ofJourney, parameters: { only: 'text?' } },
  `select distinct v.account_id as "accountId", v.journey_id as "journeyId"
   from journey_versions v join ${activeAccounts} a on a.id = v.account_id
   where v.look_at is not null and not exists (select from journeys j where j.id = v.journey_id) and (:only::text is null or a.id = :only)`,
)

export const finishJourneyDeletions = continueDeletions(
  findUnfinishedDeletions,
  (app, { accountId, journeyId }, deletion) => sweep(app, accountId, journeyId, deletion),
)

export const jobs = [
  defineJob('journey deletions', {
    does: 'Continues interrupted deletions of journeys',
    runFor: finishJourneyDeletions,
  }),
]
