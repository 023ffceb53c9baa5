import { setTimeout as sleep } from 'node:timers/promises'
import { coalesceCalls } from '../lib/coalesce.ts'
import { Problem } from '../lib/problem.ts'
import { usedUp } from '../quotas/quotas.ts'
import { isSharedFailure, isUnavailable, unavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { type Call, quotaProblem, type Reserved, reserve } from './messages.reserve.ts'
import { senderOf } from './messages.sender.ts'
import type { SendBody, SendResult } from './messages.shapes.ts'

/** A caller waits so long for the relay's verdict. */
const verdictMs = 10_000
/** Who comes with a key whose message is under way waits so long for its end. */
const replayMs = 2000
const replayPollMs = 50
const mostAtOnce = 50

interface Caller {
  app: App
  accountId: string
  actor: string
}

/**
 * Reserves a call. Those of an account that come while one is being reserved are reserved together after it: they would
 * wait for each other's commit anyway, at the counter of the quota. Of those who ask for its last unit some pass, alone.
 */
const reserveCall = coalesceCalls(
  mostAtOnce,
  async ({ app, accountId, actor }: Caller, calls: readonly Call[]): Promise<Reserved[]> => {
    const sender = senderOf(app)
    const worker = await sender.ready()
    if (worker === null) throw unavailable()
    try {
      return await app.work(accountId, actor, (work) => reserve(app, work, calls, worker))
    } catch (error) {
      if (isUnavailable(error)) sender.unsure()
      throw error
    }
  },
  { isShared: isSharedFailure },
)

interface StoredResult {
  id: string
  status: SendResult['status']
  reason: string | null
  error: string | null
}

const resultOf = ({ id, status, reason, error }: StoredResult): SendResult => ({
  id,
  status,
  ...(reason !== null && { reason }),
  ...(error !== null && { error }),
})

const rowOfKey = async ({ sql }: App, accountId: string, key: string): Promise<StoredResult | null> => {
  const [row] = await sql<StoredResult>(
    'select id, status, reason, error from messages where account_id = $1 and key = $2',
    [accountId, key],
    'message-of-key',
  )
  return row ?? null
}

const keyOf = (idempotencyKey: string): string => `api:${idempotencyKey}`

/** The result of the call that had the key first, once it has one, or `pending` after a moment; null where there is none. */
export const resultOfKey = async (app: App, accountId: string, idempotencyKey: string): Promise<SendResult | null> => {
  const endsAt = performance.now() + replayMs
  for (;;) {
    const row = await rowOfKey(app, accountId, keyOf(idempotencyKey))
    if (row?.status !== 'pending' || performance.now() >= endsAt) return row && resultOf(row)
    await sleep(replayPollMs)
  }
}

const callQuotas = ['sendApiCalls', 'sends'] as const

/** Calls of an account that arrive while the quotas are read share the next read. */
const lookAtQuotas = coalesceCalls(
  Number.POSITIVE_INFINITY,
  async ({ sql, accountId }: Pick<App, 'sql'> & { accountId: string }, asked: readonly Date[]) => {
    const used = await usedUp({ sql, accountId, now: asked.at(-1)! }, callQuotas)
    return asked.map(() => used)
  },
  { isShared: isSharedFailure },
)

/** Throws Problem `limited` where a monthly quota has nothing left for a call of POST /send. Counts nothing. */
export const demandQuota = async ({ sql, database, now }: App, accountId: string): Promise<void> => {
  const at = now()
  const used = await lookAtQuotas({ sql, accountId }, database, accountId, at)
  const quota = callQuotas.find((name) => used.includes(name))
  if (quota) throw quotaProblem(quota, at)
}

export interface SendOptions {
  actor: string
  idempotencyKey?: string | undefined
  /** Whether it is a call of the Send API, which has a monthly quota of its own. */
  countsCall: boolean
}

/**
 * Sends one mail and tells what became of it (api.md section 4, Send): reserved, then handed over, then recorded. `pending`
 * where the relay has given no verdict after 10 s: the job settles it. `isReplay`: the key had been used, nothing was sent.
 *
 * Throws Problem `invalid`, `missing` for a project, `limited` for a quota; then the key is free again.
 */
export const sendMessage = async (
  app: App,
  accountId: string,
  body: SendBody,
  { actor, idempotencyKey, countsCall }: SendOptions,
): Promise<{ result: SendResult; isReplay: boolean }> => {
  const key = idempotencyKey === undefined ? null : keyOf(idempotencyKey)
  const reserved = await reserveCall({ app, accountId, actor }, app.database, accountId, { body, key, countsCall })
  if ('refusal' in reserved) throw reserved.refusal
  if ('taken' in reserved) {
    const result = await resultOfKey(app, accountId, idempotencyKey!)
    if (result) return { result, isReplay: true }
    throw new Problem('conflict', 'The message of this Idempotency-Key is gone')
  }
  const { inserted, claimed } = reserved
  const { id, status, reason } = inserted
  if (status !== 'pending') return { result: resultOf({ id, status, reason, error: null }), isReplay: false }
  const verdict = await senderOf(app).carry(claimed, verdictMs)
  if (!verdict || verdict.status === 'queued') return { result: { id, status: 'pending' }, isReplay: false }
  return { result: resultOf({ ...verdict, id, status: verdict.status }), isReplay: false }
}
