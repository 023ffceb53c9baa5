import { closedAccountIds } from '../accounts/accounts.rows.ts'
import type { QueueView } from '../queue/loop.ts'

/* What statements about the queue of messages have in common. */

/** Returns the SQL condition that the batch is paused. */
export const isPaused = (account: string, batch: string): string =>
  `exists (select from message_pauses p where p.account_id = ${account} and p.batch = ${batch})`

/** Messages that are due, without those that a broadcast holds back or has paused, or that wait for their next attempt. */
export const sendsQueue: QueueView = {
  name: 'sends',
  due: `select q.due_at from clock, message_queue q where q.due_at <= clock.now
    and q.account_id <> all(array${closedAccountIds}) and not ${isPaused('q.account_id', 'q.batch')}`,
}

/**
 * The stream of the queue in which messages with large attachments wait: only a few of them are claimed at a time. It is stored in the
 * column of the batch, but it is not a batch: nothing counts how its messages end.
 */
export const largeMails = 'large'

/** Returns the SQL condition that a name is that of a batch. */
export const isBatch = (name: string): string => `${name} not in ('', '${largeMails}')`

/** The due time of held messages, which never comes. */
export const heldUntil = `timestamptz '9999-12-31 00:00:00Z'`

/** Returns the SQL condition that the recipient of the copy `m` was suppressed when its call was accepted. */
export const isLeftOut = (m: string): string => `(${m}.status = 'suppressed' and ${m}.finished_at = ${m}.created_at)`

/** Returns SQL that counts ended messages of batches; `ended` is a query of account, batch and status of each message. */
export const countEnds = (ended: string) => `
  insert into message_tallies (account_id, batch, status, count)
  select account_id, batch, status, count(*) from (${ended}) e where ${isBatch('batch')} group by account_id, batch, status`
