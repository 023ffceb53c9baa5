import { tallyingLeft } from '../contacts/contacts.ts'
import { preparedStatement } from '../store/statement.ts'
import type { Listener, Work } from '../store/work.ts'

const countLeaving = preparedStatement(
  'count-departures',
  { parameters: { accountId: 'text', emails: '_text', reason: 'text', now: 'timestamptz' } },
  tallyingLeft(
    ':accountId',
    ':now',
    `select (select max(created_at) from suppressions 
       where account_id = :accountId and email = e.email and reason <> :reason and topic_id = '')
     from unnest(:emails::text[]) as e(email)`,
  ),
)

/** Counts contacts that were suppressed for a reason, or (null) removed; leaving a topic does not count. Requires the locks of the addresses. */
export const countDepartures = async (
  { sql, accountId, now }: Work,
  emails: readonly string[],
  reason: string | null,
): Promise<void> => {
  if (emails.length > 0) await sql(countLeaving, { accountId, emails, reason: reason ?? '', now })
}

/** Counts addresses that are removed from the account; those that were suppressed before have left already. */
export const countRemovals: Listener = {
  addressesLeft: (work, emails) => countDepartures(work, emails, null),
}
