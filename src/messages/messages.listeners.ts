import { returnQuota } from '../accounts/accounts.ts'
import { addressPattern, erasedAddress } from '../lib/erased.ts'
import { countActions, countEnded } from '../results/results.rows.ts'
import { erasePerson } from '../results/results.ts'
import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'
import { causeOf, endedColumns } from './messages.ended.ts'
import { countEnds } from './messages.queue.ts'
import { mailChannel } from './outbox/outbox.claim.ts'

/** The messages to the address `:email`, and the copies (cc, bcc) of those calls whose `to` it is: their content is about this person. */
const messagesOfRecipient = `
  select id from messages where account_id = :accountId and email = :email
  union
  select c.id from messages m join messages c on c.account_id = :accountId and c.copy_of = m.id
  where m.account_id = :accountId and m.email = :email and m.copy = 'to'`

const dropQueued = statement(
  'drop-messages-to-recipient',
  { row: { month: 'text', count: 'int8' }, parameters: { accountId: 'text', email: 'text' } },
  `with erased as materialized (${messagesOfRecipient}), gone as (
     delete from message_queue q using erased
     where q.account_id = :accountId and q.id = erased.id returning q.account_id, q.id, q.batch, q.is_handing
   ), ended as (${countEnds(`select account_id, batch, 'failed' as status from gone`)}
   ) select to_char(m.created_at at time zone 'UTC', 'YYYY-MM-01') as month, count(*) as count
   from gone join messages m on m.account_id = :accountId and m.id = gone.id where not gone.is_handing group by 1`,
)

const dropAttachments = statement(
  'drop-attachments-of-recipient',
  { parameters: { accountId: 'text', email: 'text' } },
  `with erased as materialized (${messagesOfRecipient})
   delete from message_attachments a using erased where a.account_id = :accountId and a.message_id = erased.id`,
)

const blankMessages = statement(
  'blank-messages-to-recipient',
  { parameters: { accountId: 'text', email: 'text', now: 'timestamptz' } },
  `with erased as materialized (${messagesOfRecipient}), held as materialized (
     select m.id, m.status = 'pending' as ends from messages m join erased on m.account_id = :accountId and m.id = erased.id
     order by m.id for no key update of m
   ), blanked as (update messages m set email = case when email = :email then '' else email end, subject = '', html = null, text = null, calendar = null, merge_data = null, headers = null,
     reply_to = nullif(reply_to, :email),
     error = case when status = 'pending' or strpos(lower(error), :email) > 0 then 'The contact was erased' else error end,
     status = case when status = 'pending' then 'failed' else status end, finished_at = coalesce(finished_at, :now)
   from held where m.account_id = :accountId and m.id = held.id returning held.ends, ${endedColumns('m')}
   ) ${countEnded('select account_id, project_id, cause, day, metric, count from blanked where ends')}`,
)

const blankNaming = statement(
  'blank-address-in-messages',
  { parameters: { accountId: 'text', email: 'text', pattern: 'text' } },
  `with held as materialized (
     select id from messages where account_id = :accountId and (reply_to = :email or headers::text ~* :pattern) order by id for no key update
   )
   update messages m set reply_to = nullif(reply_to, :email), headers = regexp_replace(headers::text, :pattern, ${erasedAddress}, 'gi')::jsonb
   from held where m.account_id = :accountId and m.id = held.id`,
)

/**
 * Erases a recipient. Messages stay as a record that they were sent, without the address and without content that may
 * name the person; queued ones fail, and return their volume. So do its copies (cc, bcc), which keep their own
 * addresses. Messages to others lose the address in their Reply-To and their own headers. Suppressions stay, so that an
 * address that unsubscribed or complained stays suppressed when it is added again.
 */
export const forgetRecipients: Listener = {
  async contactsRemoved(work, { listId, email }) {
    const { sql, accountId, now } = work
    if (listId !== undefined || email === undefined) return
    // The queue is locked before the messages, in the same order as everywhere else (docs/locking.md).
    const months = await sql(dropQueued, { accountId, email })
    work.last(async () => {
      for (const { month, count } of months) await returnQuota(work, 'sends', month, count)
    })
    await sql(dropAttachments, { accountId, email })
    await sql(blankMessages, { accountId, email, now })
    await sql(blankNaming, { accountId, email, pattern: addressPattern(email) })
    await erasePerson(work, email)
  },
}

/** An account that works here again, or for the first time: the mail jobs look for its due messages. */
export const resumeMessages: Listener = {
  async accountArrived(work) {
    work.announce(mailChannel)
  },
}

const countLeft = statement(
  'count-person-who-left',
  { parameters: { accountId: 'text', messageId: 'text', now: 'timestamptz' } },
  countActions({
    from: `(select account_id, project_id, email, :now::timestamptz as at, ${causeOf('m')} as cause from messages m where account_id = :accountId and id = :messageId) m`,
    cause: 'cause',
    metric: `'unsubscribed'`,
    url: 'null',
    where: `email <> ''`,
  }),
)

/** Counts a recipient who left by the link of a message. */
export const countUnsubscribed: Listener = {
  async mailLeft({ sql, accountId, now }, { messageId }) {
    await sql(countLeft, { accountId, messageId, now })
  },
}
