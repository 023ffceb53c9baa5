import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'
import { senders } from './senders.columns.ts'

const shown = columns(senders, ['id', 'email', 'name', 'replyTo'])
const ofAddress = { accountId: 'text', email: 'text' } as const

const sendersWith = (name: string, column: 'email' | 'reply_to') =>
  statement(
    name,
    { row: shown.types, parameters: ofAddress },
    `select ${shown.list} from senders where account_id = :accountId and ${column} = :email order by id`,
  )

const readSendersOf = sendersWith('senders-of-address', 'email')
const readSendersNaming = sendersWith('senders-naming-address', 'reply_to')

/** The senders of an address, and those that name it as Reply-To. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'senders',
    // A setting of the account: without it, the account could not send. An operator deletes it.
    staysAtErasure: true,
    read: ({ sql, accountId }, email) => sql(readSendersOf, { accountId, email }),
  },
  {
    name: 'sendersNaming',
    read: ({ sql, accountId }, email) => sql(readSendersNaming, { accountId, email }),
  },
]

const eraseReplyTo = statement(
  'erase-reply-to-of-senders',
  { parameters: ofAddress },
  `with held as materialized (
     select id from senders where account_id = :accountId and reply_to = :email order by id for no key update
   ) update senders s set reply_to = null from held where s.id = held.id`,
)

/** Removes an erased address as Reply-To. */
export const forgetInSenders: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(eraseReplyTo, { accountId, email })
  },
}
