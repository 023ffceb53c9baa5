import { utcDay } from '../store/tallies.ts'

/*
 * Results of email (docs/reference/results.md). Each transaction that changes one adds a row to `message_result_changes`, which needs
 * no lock: writers never wait for each other. `foldResults` adds them up into `message_results`, and readers sum both tables.
 *
 * Results are counted in scopes: the account (''), the message's project, and the broadcast or journey that caused it.
 */

export type MessageMetric = 'sent' | 'failed' | 'cancelled' | 'suppressed' | 'bounced' | 'complained'
/** Numbers of distinct people. */
export type PersonMetric = 'opened' | 'clicked' | 'answered' | 'unsubscribed'

export const personMetrics: readonly PersonMetric[] = ['opened', 'clicked', 'answered', 'unsubscribed']

/**
 * Returns the SQL condition that a scope of `message_people` is a day of the account. The others are ids, which begin with a
 * letter.
 */
export const dayScopes = (scope: string): string => `${scope} < ':'`

/** Returns the SQL condition that the scope is none of these days. `message_people_scope_index` has such rows only. */
export const otherScopes = (scope: string): string => `${scope} >= ':'`

/** Returns SQL that counts messages; `ended` is a query of account_id, project_id, cause, day, metric (MessageMetric) and count. */
export const countEnded = (ended: string): string => `
  insert into message_result_changes (account_id, project_id, cause, day, metric, count)
  select account_id, project_id, cause, day, metric, sum(count) from (${ended}) e
  group by account_id, project_id, cause, day, metric having sum(count) <> 0`

interface CountedActions {
  /** Columns of `from`: account_id, project_id, email and at. */
  from: string
  /**
   * The SQL expressions of the broadcast or journey, or null; of the metric (PersonMetric); and of the clicked URL as its author
   * wrote it, or null.
   */
  cause: string
  metric: string
  url: string
  where: string
}

/** Returns SQL that counts what people did with messages: each person once, each click once for each row. */
export const countActions = ({ from, cause, metric, url, where }: CountedActions): string => `
  insert into message_result_changes (account_id, project_id, cause, day, metric, count, email, url)
  select account_id, project_id, ${cause}, ${utcDay('at')}, ${metric}, 1, email, ${url} from ${from} where ${where}`
