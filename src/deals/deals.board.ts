import { lockKey } from '../lib/locks.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

/*
 * The lock order for deals:
 *
 *   1. the account's board (advisory): shared to create, move or change deals; exclusive to delete a stage or change its kind;
 *   2. the pipeline, to change its stages; the stage that a new deal is put into (key share);
 *   3. deals, in the order of their ids if a statement locks several;
 *   4. the stage that a deal moves to (key share): to change or delete it, a transaction needs the exclusive board first;
 *   5. rows that the listeners of deal events lock (webhooks, journey runs).
 *
 * The board exists because a batch of journey runs can't keep one order of locks: it locks several deals in turn, with their events in
 * between, so it holds locks of all kinds when it locks the next deal. That can't deadlock: only a transaction with the exclusive lock on
 * the board locks all deals of a stage, and the batch takes the shared lock before any other lock. Deals wait while a stage is deleted.
 */

const lock = lockKey('board', ':accountId')

/** A condition that takes the shared lock on the board of the account `:accountId`, for the statement that locks the first deal or stage. */
export const onSharedBoard = `pg_advisory_xact_lock_shared(${lock}) is not null`

const takeShared = statement(
  'share-board',
  { row: { locked: 'void' }, parameters: { accountId: 'text' } },
  `select pg_advisory_xact_lock_shared(${lock}) as locked`,
)

/** Takes the shared lock on the board. Call it first in a unit of work that locks other rows before its first deal. */
export const shareBoard = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(takeShared, { accountId })
}

const takeExclusive = statement(
  'lock-board',
  { row: { locked: 'void' }, parameters: { accountId: 'text' } },
  `select pg_advisory_xact_lock(${lock}) as locked`,
)

/** Takes the exclusive lock on the board: no other transaction creates, moves or changes deals. Call it before any other lock. */
export const lockBoard = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(takeExclusive, { accountId })
}
