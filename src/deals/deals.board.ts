import { lockKey } from '../store/locks.ts'
import type { Work } from '../store/work.ts'

/*
 * The order of locks around deals, one for all:
 *
 *   1. the account's board: shared by who makes, moves or changes deals, alone by who deletes a stage or changes its kind;
 *   2. the pipeline, by who changes its stages, and the stage that a deal is put into (key share);
 *   3. deals, in the order of their ids where one statement takes several;
 *   4. what the listeners of their events lock (webhooks, journey runs).
 *
 * A unit of work that takes several deals one after the other, with their events between them (a batch of journey runs),
 * holds some of all four when it comes for the next. It stands in nobody's way all the same: who would lock the deals of a
 * whole stage has the board alone, and so meets no such unit, if that has shared the board before it locked anything.
 */

const lock = lockKey('board', '$1')

/** A condition that shares the board of the account `$1`, in the statement that comes for the first deal or stage. */
export const onSharedBoard = `pg_advisory_xact_lock_shared(${lock}) is not null`

/** Shares the board until the end of the unit of work: for a unit that locks other things before its first deal. */
export const shareBoard = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(`select pg_advisory_xact_lock_shared(${lock})`, [accountId])
}

/** Has the board alone until the end of the unit of work: nobody else makes, moves or changes a deal. Call it first. */
export const takeBoard = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(`select pg_advisory_xact_lock(${lock})`, [accountId])
}
