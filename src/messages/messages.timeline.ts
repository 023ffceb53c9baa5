import { timelinePart } from '../contacts/contacts.ts'
import { cancelledError } from './messages.ended.ts'

/** Returns the SQL expression of the subject of a message. It is null if the message does not exist. */
export const subjectOf = (of: { account: string; id: string }): string =>
  `(select subject from messages where account_id = ${of.account} and id = ${of.id})`

// A cancelled email never reached the person. Earlier versions wrote a sentence as the error of those of a broadcast.
// An email is sent at most some weeks after its creation, so the newest ones are among those created last. The limit bounds the time for
// an address with very many emails.
/** The emails to an address that have ended. */
export const timeline = timelinePart(
  'messages',
  `select coalesce(m.finished_at, m.created_at) as at, 'email.' || m.status as kind, m.subject as title, m.id
   from (
     select id, status, subject, created_at, finished_at from messages
     where account_id = :accountId and email = :email and status <> 'pending'
       and not (status = 'failed' and coalesce(error, '') in ('${cancelledError}', 'The broadcast was cancelled')) order by id desc limit 10000
   ) m`,
)
