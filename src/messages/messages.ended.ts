import { utcDay } from '../store/tallies.ts'

/* What an ended message counts as in the results of email. */

/** The beginning of the keys of the messages of a batch (broadcast). */
export const batchKeyPrefix = (batch: string): string => `broadcast:${batch}:`

/** Returns the SQL expression of the broadcast or journey that caused the message `m`. It is null if there is none. */
export const causeOf = (m: string): string =>
  `case when starts_with(${m}.key, 'broadcast:') then split_part(${m}.key, ':', 2)
     when ${m}.source_kind = 'journey' then ${m}.source_id end`

/** The error of a message that an operator cancelled. */
export const cancelledError = 'cancelled'

const metricOf = (m: string): string =>
  `case when ${m}.status = 'failed' and ${m}.error = '${cancelledError}' then 'cancelled' else ${m}.status end`

/** SQL columns for `countEnded`: the message `m` has ended, with its status. */
export const endedColumns = (m: string): string =>
  `${m}.account_id, ${m}.project_id, ${causeOf(m)} as cause, ${utcDay(`${m}.finished_at`)} as day, ${metricOf(m)} as metric, 1 as count`
