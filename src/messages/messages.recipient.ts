import { holdOffErasure } from '../contacts/contacts.ts'
import { preparedStatement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { messages } from './messages.columns.ts'

const readRecipient = preparedStatement(
  'recipient-of-message',
  { row: types(messages, 'email'), parameters: types(messages, 'accountId', 'id') },
  'select email from messages where account_id = :accountId and id = :id',
)

/**
 * Makes an erasure of a message's recipient wait for this unit of work, and returns the address; null if the recipient was erased or
 * there is no such message. Call it before locking any row of the recipient.
 */
export const holdRecipient = async (work: Work, id: string): Promise<string | null> => {
  const read = async () => (await work.sql(readRecipient, { accountId: work.accountId, id }))[0]?.email || null
  const email = await read()
  if (email === null) return null
  await holdOffErasure(work, email)
  return read()
}
