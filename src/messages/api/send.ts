import { setTimeout as sleep } from 'node:timers/promises'
import { isThreadBusy } from '../../lib/busy.ts'
import { coalesceCalls } from '../../lib/coalesce.ts'
import { Problem } from '../../lib/problem.ts'
import { Counts } from '../../queue/capacity.ts'
import { isHeld } from '../../queue/holds.ts'
import type { RowOf } from '../../store/column-types.ts'
import { isSharedFailure, isUnavailable, unavailable } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import type { App, Work } from '../../store/work.ts'
import { messages } from '../messages.columns.ts'
import { isLeftOut } from '../messages.queue.ts'
import { senderOf } from '../outbox/sender.ts'
import { type Reserved, reserve } from './reserve.ts'
import type { Call } from './send.message.ts'
import type { SendBody, SendResult } from './send.shapes.ts'

/** A caller waits at most this long for the relay's answer. */
const answerMs = 10_000
/** A repeated call whose first call is still being sent waits at most this long for its result. */
const replayMs = 2000
const replayPollMs = 50
const maxBatch = 50
/** An account with this many calls in progress may have several in one transaction. */
const leastShared = 4
/** The longest wait of a reservation for further calls, and its length for each call in progress of any account. */
const longestGatherMs = 15
const gatherMsForCall = 0.5

interface Caller {
  app: App
  accountId: string
  actor: string
}

/**
 * Reserves a call. Calls of an account that arrive while another one is being reserved share the next transaction: separate
 * transactions would wait for each other's commit at the quota counter anyway. If the quota is too small for the shared
 * transaction, each of its calls is tried separately, so that the last units are used.
 */
const reserveCalls = async ({ app, accountId, actor }: Caller, calls: readonly Call[]): Promise<Reserved[]> => {
  const sender = senderOf(app)
  const worker = await sender.ready()
  if (worker === null) throw unavailable()
  try {
    return await app.work(accountId, actor, (work) => reserve(app, work, calls, sender.isHeld ? null : worker))
  } catch (error) {
    if (isUnavailable(error)) sender.reconcileSoon()
    throw error
  }
}

/** The calls that are reserved or sent at this moment, by account. */
const inProgress = new Counts()

/**
 * Callers wait for the relay's answer, so their calls come one by one, and few share a transaction by themselves. While this thread is
 * busy, a reservation waits a moment for others: it saves more time than it takes. The wait grows with the number of calls, as the time
 * of each does. Figures: test/bench, POST /send.
 */
const reserveCall = coalesceCalls(maxBatch, reserveCalls, {
  isShared: isSharedFailure,
  gatherMs: (accountId) =>
    inProgress.of(accountId) >= leastShared && isThreadBusy()
      ? Math.min(longestGatherMs, inProgress.total * gatherMsForCall)
      : 0,
})

const keptResult = columns(messages, ['id', 'status', 'reason', 'error'], 'm')

/**
 * What a message became. `suppressed` are the recipients of copies that were left out; it is null if the call had one recipient.
 */
type StoredResult = RowOf<typeof keptResult.types> & { suppressed: string[] | null }

const resultOf = ({ id, status, reason, error, suppressed }: StoredResult): SendResult => ({
  id,
  status,
  ...(reason !== null && { reason }),
  ...(error !== null && { error }),
  ...(suppressed?.length && { suppressed }),
})

// A message waits if its scheduled time has not come, or if sends are paused.
const readOfKey = preparedStatement(
  'message-of-key',
  {
    row: { ...keptResult.types, suppressed: '_text?', isWaiting: 'bool' },
    parameters: { accountId: 'text', key: 'text' },
  },
  `select ${keptResult.list}, case when m.copy is not null then array(
     select c.email from messages c
     where c.account_id = :accountId and c.copy_of = m.id and c.email <> '' and ${isLeftOut('c')} order by c.id
   ) end as suppressed, coalesce(m.scheduled_at > svc_now(), false) or ${isHeld('sends')} as "isWaiting"
   from messages m where m.account_id = :accountId and m.key = :key`,
)

const keyOf = (idempotencyKey: string): string => `api:${idempotencyKey}`

/**
 * Returns the result of the first call with this key, null if there is none. Waits up to 2 s for the end of a message that is
 * still being sent, then returns `pending`.
 */
export const resultOfKey = async (app: App, accountId: string, idempotencyKey: string): Promise<SendResult | null> => {
  const endsAt = performance.now() + replayMs
  for (;;) {
    const [row] = await app.sql(readOfKey, { accountId, key: keyOf(idempotencyKey) })
    if (!row) return null
    if (row.status !== 'pending' || row.isWaiting || performance.now() >= endsAt) return resultOf(row)
    await sleep(replayPollMs)
  }
}

interface SendOptions {
  actor: string
  idempotencyKey?: string | undefined
  /** Whether it counts against the monthly quota of Send API calls. */
  countsCall: boolean
}

/**
 * Returns what `sendMessage` would answer, as far as the relay does not decide it, and throws what it throws. The unit of work must
 * be rolled back.
 */
export const trySend = async (app: App, work: Work, body: SendBody): Promise<Omit<SendResult, 'id'>> => {
  const [reserved] = await reserve(app, work, [{ body, key: null, countsCall: false }], null)
  if ('refusal' in reserved!) throw reserved.refusal
  // A call without a key can't meet an earlier one.
  const { inserted, suppressed } = reserved as Extract<Reserved, { inserted: unknown }>
  const { id: _, ...result } = resultOf({ ...inserted, error: null, suppressed })
  return result
}

type Sent = { result: SendResult; isReplay: boolean }

const reserveAndCarry = async (
  app: App,
  accountId: string,
  body: SendBody,
  { actor, idempotencyKey, countsCall }: SendOptions,
): Promise<Sent> => {
  const key = idempotencyKey === undefined ? null : keyOf(idempotencyKey)
  const caller = { app, accountId, actor }
  const call = { body, key, countsCall }
  // A call that writes megabytes has a transaction of its own, for which no other call waits.
  const reserved = body.attachments?.length
    ? (await reserveCalls(caller, [call]))[0]!
    : await reserveCall(caller, app.database, accountId, call)
  if ('refusal' in reserved) throw reserved.refusal
  if ('taken' in reserved) {
    const result = await resultOfKey(app, accountId, idempotencyKey!)
    if (result) return { result, isReplay: true }
    throw new Problem('conflict', 'The message of this Idempotency-Key is gone')
  }
  const { inserted, claims, suppressed } = reserved
  const { id, status, reason } = inserted
  const result = resultOf({ id, status, reason, error: null, suppressed })
  if (status !== 'pending' || claims.length === 0) return { result, isReplay: false }
  const sender = senderOf(app)
  const [sent] = await Promise.all(claims.map((message) => sender.carry(message, answerMs)))
  if (!sent || sent.status === 'queued') return { result, isReplay: false }
  return { result: resultOf({ ...sent, id, status: sent.status, suppressed }), isReplay: false }
}

/**
 * Sends one email and returns its result (docs/reference/api.md#post-send). The status is `pending` if the relay has not answered
 * within 10 s; the mail job then finishes it. It is `pending` at once for a scheduled call, and while sends are paused.
 * `isReplay` says that the key was used before, and this call sent nothing. Throws Problem `invalid`, `not_found` for a project,
 * `limited` for a quota; then the key is free again.
 */
export const sendMessage = async (app: App, accountId: string, body: SendBody, options: SendOptions): Promise<Sent> => {
  inProgress.add(accountId, 1)
  try {
    return await reserveAndCarry(app, accountId, body, options)
  } finally {
    inProgress.add(accountId, -1)
  }
}
