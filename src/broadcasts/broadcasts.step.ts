import { returnQuota } from '../accounts/accounts.ts'
import { countActive, type Recipient, readRecipients, shareRecipients } from '../contacts/contacts.ts'
import {
  cancelledError,
  dropBatch,
  failDropped,
  isBatchOut,
  type QueuedMail,
  queueMails,
  releaseMails,
  takeBatchCounts,
} from '../messages/messages.ts'
import { findSegment } from '../segments/segments.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { SerializationConflict } from '../store/database.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { audienceColumns, audienceOf } from './broadcasts.audience.ts'
import { broadcasts } from './broadcasts.columns.ts'
import { keyPrefix } from './broadcasts.find.ts'
import { choiceColumns, fromOfLetter, lateLetter } from './broadcasts.letter.ts'
import { decideRecipients, isRestNext, listDeleted, takeRecipients } from './broadcasts.recipients.ts'
import { countSent, decideWinner, variantOf } from './broadcasts.variants.ts'

/*
 * A broadcast advances in steps. Each is a unit of work that locks its row, so any process (a daemon's job, the command) can take
 * the next one. A step queues messages and saves the checkpoint in one transaction, so that a crash neither repeats nor loses a
 * message; the unique key of each message ensures it too.
 */

const batchSize = 500
/** After a longer interruption, only this much time is caught up at the broadcast's rate. */
const catchUpMs = 2000
const minWaitMs = 100

/** The columns that steps write. */
const progressColumns = [
  'startedAt',
  'checkpoint',
  'pacedAt',
  'recipients',
  'queued',
  'sent',
  'failed',
  'suppressed',
  'finishedAt',
  'reason',
  'letter',
  'shareQueuedAt',
  'winner',
  'variantSent',
] as const
const stateColumns = columns(broadcasts, [
  'id',
  ...audienceColumns,
  ...choiceColumns,
  'topicId',
  'rate',
  'scheduledAt',
  ...progressColumns,
])
// A step also saves the filter with which the broadcast began.
const savedColumns = columns(broadcasts, ['status', 'filter', ...progressColumns])

const stateTypes = {
  ...stateColumns.types,
  status: typed<'scheduled' | 'sending' | 'done' | 'cancelled'>('text'),
} as const

/** The state of a broadcast, which a step reads, changes and saves. */
type State = RowOf<typeof stateTypes>

/**
 * The result of a step: whether the next step can follow at once, otherwise after how long, if that is known. It is null if no step was
 * taken, because the broadcast is not due, is locked by another process, or has ended.
 */
type Step = { isMore: boolean; waitMs: number | null } | null

type SendStep = NonNullable<Step> & { recipients: readonly Recipient[] }

const lockOpen = preparedStatement(
  'lock-broadcast',
  {
    row: stateTypes,
    parameters: { accountId: 'text', id: 'text' },
  },
  `select status, ${stateColumns.list} from broadcasts
   where account_id = :accountId and id = :id and finished_at is null and status <> 'draft' and paused_at is null
   for no key update skip locked`,
)

// Reads recipients in the order of the list's index. Without current statistics the planner may choose a bitmap scan and a sort.
const setUpStep = statement(
  'set-up-broadcast-step',
  { row: { lockTimeout: 'text', bitmapScan: 'text' } },
  `select set_config('lock_timeout', '1s', true) as "lockTimeout", set_config('enable_bitmapscan', 'off', true) as "bitmapScan"`,
)

const lock = async ({ sql, accountId }: Work, id: string): Promise<State | null> => {
  await sql(setUpStep)
  return (await sql(lockOpen, { accountId, id }))[0] ?? null
}

const saveState = preparedStatement(
  'save-broadcast',
  {
    parameters: {
      ...types(broadcasts, 'accountId', 'id'),
      ...savedColumns.types,
      letter: typed<string | null>('jsonb'),
      variantSent: typed<string | null>('jsonb'),
    },
  },
  `update broadcasts set ${savedColumns.set} where account_id = :accountId and id = :id`,
)

const save = ({ sql, accountId }: Work, state: State) =>
  sql(saveState, {
    ...state,
    accountId,
    letter: state.letter && JSON.stringify(state.letter),
    variantSent: state.variantSent && JSON.stringify(state.variantSent),
  })

const isWholeList = ({ filter, audience, variants }: State): boolean =>
  filter === null && audience === null && !variants?.contest

/** Begins a broadcast. If its list was deleted, or something that its filter names, cancels it for that reason and returns false. */
const begin = async (work: Work, state: State): Promise<boolean> => {
  const { listId } = state
  const recipients = isWholeList(state)
    ? ((await countActive(work, listId)) ?? listDeleted)
    : await decideRecipients(work, state.id, audienceOf(state), state.variants)
  // `show` reports the filter with which the broadcast began, also after the segment is changed or deleted.
  if (typeof recipients === 'number' && state.segmentId !== null)
    state.filter = (await findSegment(work, state.segmentId)).where
  if (typeof recipients === 'number')
    Object.assign(state, { status: 'sending', startedAt: work.now, checkpoint: '', recipients })
  else Object.assign(state, { status: 'cancelled', finishedAt: work.now, recipients: 0, reason: recipients })
  return typeof recipients === 'number'
}

/** Returns the subject for an address. It is undefined for the project's name. */
const subjectFor = ({ subject, variants, letter, winner }: State, email: string): string | undefined =>
  variants ? variants.subjects[variantOf(email, variants, winner)] : (letter?.subject ?? subject ?? undefined)

const mailOf = (state: State, { rowId, email, fields }: Recipient): QueuedMail => ({
  to: email,
  type: 'marketing',
  topicId: state.topicId ?? undefined,
  key: `${keyPrefix(state.id)}${rowId}`,
  source: { kind: 'send', id: null },
  ...(state.letter && fromOfLetter(state.letter)),
  subject: subjectFor(state, email),
  content: { projectId: state.projectId, version: state.letter?.projectVersion, mergeData: { email, ...fields } },
})

/** Returns the next recipients, and the checkpoint after them. */
const nextRecipients = async (work: Work, state: State): Promise<{ recipients: Recipient[]; last: string | null }> => {
  const { listId, checkpoint, startedAt } = state
  if (!isWholeList(state)) return (await takeRecipients(work, state)) ?? { recipients: [], last: null }
  const recipients = await readRecipients(work, listId, { after: checkpoint!, at: startedAt!, limit: batchSize })
  return { recipients, last: recipients.length < batchSize ? null : recipients.at(-1)!.rowId }
}

/**
 * Decides which variant the rest of the recipients gets, when its time has passed since the share was queued. Returns
 * how many ms the rest still waits; null if it need not wait.
 */
const waitForWinner = async (work: Work, state: State): Promise<number | null> => {
  const { id, variants } = state
  if (!variants?.contest || state.winner !== null || !(await isRestNext(work, id))) return null
  state.shareQueuedAt ??= work.now
  const waitMs = state.shareQueuedAt.getTime() + variants.contest.afterMs - work.now.getTime()
  if (waitMs > 0) return waitMs
  state.winner = await decideWinner(work, id, variants)
  return null
}

/** Queues the messages of the next recipients, and returns these. With `isRepeated` it holds their addresses while it does. */
const queueNext = async (app: App, work: Work, state: State, isRepeated: boolean): Promise<Recipient[]> => {
  const { recipients: next, last } = await nextRecipients(work, state)
  const recipients = isRepeated ? await shareRecipients(work, next) : next
  state.letter ??= await lateLetter(app, work, state)
  const mails = recipients.map((recipient) => mailOf(state, recipient))
  for (const { status } of await queueMails(app, work, mails, { id: state.id, isHeld: state.rate !== null })) {
    if (status === 'pending') state.queued++
    else if (status !== 'known') state[status]++
  }
  state.checkpoint = last
  if (state.checkpoint === null) state.recipients = state.queued + state.sent + state.failed + state.suppressed
  return recipients
}

/**
 * Looks, last in a step, whether all its recipients still exist, and holds their addresses until its commit, which is next: an erasure
 * that ended meanwhile has not seen the messages of the step. Throws `SerializationConflict` if a recipient was removed or is being
 * removed. The step then runs again, and holds the addresses before it queues.
 */
const confirmRecipients = async (work: Work, recipients: readonly Recipient[]): Promise<void> => {
  const held = await shareRecipients(work, recipients, { skipLocked: true })
  if (held.length < recipients.length) throw new SerializationConflict('A recipient was removed meanwhile')
}

const addCounts = async (work: Work, state: State): Promise<void> => {
  const { sent, failed, suppressed } = await takeBatchCounts(work, state.id)
  state.queued -= sent + failed + suppressed
  state.sent += sent
  state.failed += failed
  state.suppressed += suppressed
}

/** Releases the messages that its rate allows since the previous step. Returns the ms until it allows the next one. */
const pace = async (work: Work, state: State, rate: number): Promise<number> => {
  const nowMs = work.now.getTime()
  const eachMs = 60_000 / rate
  const usedUntil = Math.max(state.pacedAt?.getTime() ?? nowMs - eachMs, nowMs - Math.max(eachMs, catchUpMs))
  const count = Math.floor((nowMs - usedUntil) / eachMs)
  if (count > 0) await releaseMails(work, state.id, { count, most: rate })
  const paced = usedUntil + count * eachMs
  state.pacedAt = new Date(paced)
  return Math.max(minWaitMs, paced + eachMs - nowMs)
}

const sendStep = async (app: App, work: Work, state: State, isRepeated: boolean): Promise<SendStep> => {
  if (state.startedAt === null && !(await begin(work, state))) return { isMore: false, waitMs: null, recipients: [] }
  await addCounts(work, state)
  const winnerMs = state.checkpoint === null ? null : await waitForWinner(work, state)
  const recipients = state.checkpoint !== null && winnerMs === null ? await queueNext(app, work, state, isRepeated) : []
  const paceMs = state.rate === null ? null : await pace(work, state, state.rate)
  const waitMs = winnerMs === null ? paceMs : Math.min(winnerMs, paceMs ?? winnerMs)
  if (state.checkpoint === null && state.queued === 0) Object.assign(state, { status: 'done', finishedAt: work.now })
  const isMore = state.checkpoint !== null && winnerMs === null
  return { isMore, waitMs: state.finishedAt === null ? waitMs : null, recipients }
}

/** Ends the messages that were removed from the queue, and those that returned to it after a temporary failure. */
const cancelStep = async (work: Work, state: State): Promise<NonNullable<Step>> => {
  const isOut = await isBatchOut(work, state.id)
  await addCounts(work, state)
  if ((await dropBatch(work, state.id)) > 0) state.checkpoint = ''
  if (state.checkpoint !== null) {
    const { last, failed, months } = await failDropped(work, keyPrefix(state.id), state.checkpoint, cancelledError)
    state.checkpoint = last
    state.queued -= failed
    state.failed += failed
    for (const { month, count } of months) await returnQuota(work, 'sends', month, count)
  }
  if (state.checkpoint === null && isOut) {
    // The remaining ones left the queue in another way: their recipients were erased.
    Object.assign(state, { failed: state.failed + state.queued, queued: 0, finishedAt: work.now })
  }
  return { isMore: state.checkpoint !== null, waitMs: null }
}

/**
 * Takes the next step of a broadcast: begins it, queues the next 500 messages, releases those that its rate allows and
 * adds up the ended ones; or ends the messages of a cancelled one. Cancels a broadcast whose list was deleted. Does not
 * change a draft, a paused broadcast, or one whose time has not come. `isRepeated` says that the transaction was tried before. Throws
 * `SerializationConflict` if a recipient was removed meanwhile.
 */
export const advanceBroadcast = async (app: App, work: Work, id: string, isRepeated = false): Promise<Step> => {
  const state = await lock(work, id)
  if (!state || (state.startedAt === null && state.scheduledAt !== null && state.scheduledAt > work.now)) return null
  const { recipients, ...step } =
    state.status === 'cancelled'
      ? { ...(await cancelStep(work, state)), recipients: [] }
      : await sendStep(app, work, state, isRepeated)
  if (state.finishedAt && state.startedAt && state.variants)
    state.variantSent = await countSent(work, id, state.variants, state.winner)
  await save(work, state)
  if (!isRepeated) await confirmRecipients(work, recipients)
  return step
}

/** Takes the next step of a broadcast as `advanceBroadcast`, in a unit of work of its own. */
export const takeStep = (app: App, accountId: string, actor: string, id: string): Promise<Step> => {
  let tries = 0
  return app.work(accountId, actor, (work) => advanceBroadcast(app, work, id, tries++ > 0))
}
