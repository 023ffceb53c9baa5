/** Returns the SQL condition that the batch `id` of `account` has ended messages that `takeBatchCounts` has not returned yet. */
export const hasBatchCounts = (account: string, id: string) =>
  `exists (select from message_tallies m where m.account_id = ${account} and m.batch = ${id})`

/**
 * Returns the SQL from item of the numbers of ended messages of the batch `id` of `account` that `takeBatchCounts` has not
 * returned yet.
 */
export const batchCounts = (account: string, id: string) => `(
  select coalesce(sum(count) filter (where status = 'sent'), 0)::int as sent,
    coalesce(sum(count) filter (where status = 'failed'), 0)::int as failed,
    coalesce(sum(count) filter (where status = 'suppressed'), 0)::int as suppressed
  from message_tallies where account_id = ${account} and batch = ${id}
)`
