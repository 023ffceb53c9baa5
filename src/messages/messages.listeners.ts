import type { Listener } from '../store/work.ts'
import { tallying } from './mail.claim.ts'

/**
 * A message stays when its recipient is erased, as a record that one was sent, without the address and all that may name the
 * person; what waits is not sent any more. Suppressions stay: who unsubscribed or complained gets no mail under the same
 * address from whoever adds it again.
 */
export const forgetRecipients: Listener = {
  async contactsRemoved({ sql, accountId, now }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    // The queue before the messages, as whoever ends one.
    await sql(
      `with gone as (
         delete from message_queue q using messages m
         where m.account_id = $1 and m.email = $2 and q.account_id = $1 and q.id = m.id returning q.account_id, q.batch
       ) ${tallying(`select account_id, batch, 'failed' as status from gone`)}`,
      [accountId, email],
    )
    await sql(
      `update messages set email = '', subject = '', html = null, text = null, calendar = null, merge_data = null,
         error = case when status = 'pending' or strpos(lower(error), $2) > 0 then 'The contact was erased' else error end,
         status = case when status = 'pending' then 'failed' else status end, finished_at = coalesce(finished_at, $3)
       where account_id = $1 and email = $2`,
      [accountId, email, now],
    )
  },
}
