import { given } from '../lib/given.ts'
import { newId } from '../lib/ids.ts'
import { conflict, Problem } from '../lib/problem.ts'
import { dropBatch, pauseBatch, resumeBatch } from '../messages/messages.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { audienceColumns, audienceOf, countAudience } from './broadcasts.audience.ts'
import { broadcasts } from './broadcasts.columns.ts'
import { type BroadcastChanges, valuesOf } from './broadcasts.create.ts'
import type { Broadcast } from './broadcasts.entities.ts'
import { idOfBroadcast, showBroadcast } from './broadcasts.find.ts'
import { choiceColumns } from './broadcasts.letter.ts'
import { broadcastsChannel } from './broadcasts.loop.ts'
import { dropRecipients } from './broadcasts.recipients.ts'
import type { BroadcastView } from './broadcasts.shapes.ts'

const lockedTypes = { ...types(broadcasts, 'status'), hasBegun: 'bool', isEnded: 'bool' } as const

const lockRow = statement(
  'lock-broadcast-to-change',
  {
    row: lockedTypes,
    parameters: { accountId: 'text', id: 'text' },
  },
  `select status, started_at is not null as "hasBegun", finished_at is not null as "isEnded" from broadcasts
   where account_id = :accountId and id = :id for no key update`,
)

/**
 * Locks a broadcast (id or unique name) against steps and other changes. Throws Problem `not_found`, `conflict` for an
 * ambiguous name.
 */
export const lockBroadcast = async (
  work: Work,
  ref: string,
): Promise<RowOf<typeof lockedTypes> & { id: string; view: BroadcastView }> => {
  const id = await idOfBroadcast(work, ref)
  const [row] = await work.sql(lockRow, { accountId: work.accountId, id })
  return { ...row!, id, view: await showBroadcast(work, id) }
}

/** Writes columns of a locked broadcast. */
export const setBroadcast = async (work: Work, id: string, values: Partial<Broadcast>): Promise<void> => {
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  await em.nativeUpdate(Broadcast, { id }, values)
}

/**
 * Changes a draft. Absent properties stay as they are; null restores the default. Throws Problem `not_found`,
 * `conflict` if it is no draft, and as `createBroadcast` does.
 */
export const updateBroadcast = async (work: Work, ref: string, changes: BroadcastChanges): Promise<BroadcastView> => {
  const { id, status, view } = await lockBroadcast(work, ref)
  if (status !== 'draft') throw conflict(`The broadcast ${id} is ${view.status}: only a draft can be changed`)
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  const broadcast = await em.findOneOrFail(Broadcast, { id })
  const { audience, project: _, ...values } = await valuesOf(work, changes, broadcast)
  Object.assign(broadcast, given({ ...audience, ...values }))
  await em.flush()
  return showBroadcast(work, id)
}

/** Counts the current recipients of a broadcast: none if what its audience names was deleted. */
const countNow = async (work: Work, broadcast: Parameters<typeof audienceOf>[0], topicId: string | null) => {
  try {
    return (await countAudience(work, audienceOf(broadcast), topicId)).recipients
  } catch (error) {
    if (error instanceof Problem) return 0
    throw error
  }
}

const copiedColumns = columns(broadcasts, [...audienceColumns, ...choiceColumns, 'topicId', 'rate'])

/** Creates a draft with the content, the recipients and the rate of a broadcast. Throws Problem `not_found`. */
export const copyBroadcast = async (work: Work, ref: string, name: string): Promise<BroadcastView> => {
  const { accountId, now } = work
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  const from = await em.findOneOrFail(Broadcast, { id: await idOfBroadcast(work, ref) })
  const id = newId('bct', now.getTime())
  em.create(Broadcast, {
    ...copiedColumns.after(from, {}),
    id,
    accountId,
    name,
    status: 'draft',
    recipients: await countNow(work, from, from.topicId ?? null),
    createdAt: now,
  })
  await em.flush()
  return showBroadcast(work, id)
}

/**
 * Pauses a broadcast. After the commit none of its messages is handed over, except those that a connection has taken.
 * Pausing again changes nothing. Throws Problem `not_found`, `conflict` for a draft or a broadcast that has ended.
 */
export const pauseBroadcast = async (work: Work, ref: string): Promise<BroadcastView> => {
  const { id, status, view } = await lockBroadcast(work, ref)
  if (view.status === 'paused') return view
  if (status !== 'scheduled' && status !== 'sending')
    throw conflict(`The broadcast ${id} is ${status}: nothing to pause`)
  await setBroadcast(work, id, { pausedAt: work.now })
  await pauseBatch(work, id)
  return showBroadcast(work, id)
}

/** Continues a paused broadcast where it stopped. Throws Problem `not_found`, `conflict` if it is not paused. */
export const resumeBroadcast = async (work: Work, ref: string): Promise<BroadcastView> => {
  const { id, view } = await lockBroadcast(work, ref)
  if (view.status !== 'paused') throw conflict(`The broadcast ${id} is ${view.status}, not paused`)
  await setBroadcast(work, id, { pausedAt: null })
  await resumeBatch(work, id)
  work.announce(broadcastsChannel)
  return showBroadcast(work, id)
}

/**
 * Cancels a broadcast (id or unique name). After the commit no message of it is sent, except those that a connection
 * has taken. The following steps (`advanceBroadcast`) end its unsent messages as failed, and return their quota.
 * Cancelling again changes nothing. Throws Problem `not_found`, `conflict` if it is done.
 */
export const cancelBroadcast = async (work: Work, ref: string): Promise<BroadcastView> => {
  const { now, announce } = work
  const { id, status, hasBegun, view } = await lockBroadcast(work, ref)
  if (status === 'done') throw conflict(`The broadcast ${id} is done`)
  if (status === 'cancelled') return view
  if (hasBegun) {
    await dropRecipients(work, id)
    await dropBatch(work, id)
  }
  await resumeBatch(work, id)
  const finishedAt = hasBegun ? null : now
  await setBroadcast(work, id, { status: 'cancelled', checkpoint: '', finishedAt, pausedAt: null })
  announce(broadcastsChannel)
  return showBroadcast(work, id)
}

/**
 * Deletes a draft, or a broadcast that was cancelled before anything was sent; its records of unsent emails stay. Throws Problem
 * `not_found`, `conflict` for any other.
 */
export const deleteBroadcast = async (work: Work, ref: string): Promise<BroadcastView> => {
  const { id, status, isEnded, view } = await lockBroadcast(work, ref)
  if (status === 'cancelled' && !isEnded) throw conflict(`The broadcast ${id} is still being cancelled`)
  if (status !== 'draft' && (status !== 'cancelled' || view.sent > 0))
    throw conflict(
      status === 'cancelled'
        ? `The broadcast ${id} has sent emails: it can't be deleted`
        : `The broadcast ${id} is ${view.status}: only a draft, or one that was cancelled before it sent anything, can be deleted`,
    )
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  await em.nativeDelete(Broadcast, { id })
  return view
}
