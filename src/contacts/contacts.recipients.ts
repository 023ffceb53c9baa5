import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

/*
 * Contacts as recipients of email, for the statements of other features. Parameters are SQL: `$1`, or a column.
 */

/** SQL expression: the row id of an address; null if the account does not have it. */
export const rowIdOf = (account: string, email: string): string =>
  `(select a.row_id from addresses a where a.account_id = ${account} and a.email = ${email})`

/** SQL expression: `'invalid'` if verification rejected the address, else null. */
export const invalidReason = (account: string, email: string): string => `(
  select 'invalid' from addresses a
  where a.account_id = ${account} and a.email = ${email} and a.verification_status = 'invalid' limit 1
)`

/** SQL expression: `'pending'` if the address is in lists, but active in none of them, else null. */
export const pendingReason = (account: string, email: string): string => `(
  select 'pending' from contacts c where c.account_id = ${account} and c.row_id = ${rowIdOf(account, email)}
  having count(*) > 0 and count(*) filter (where c.status = 'active') = 0
)`

/** SQL query: the addresses that verification rejected. */
export const invalidEmails = (account: string): string =>
  `select email from addresses where account_id = ${account} and verification_status = 'invalid'`

/** SQL from item, as `c`: the active contacts of a list. The expression keeps the planner on the index of the list. */
export const activeContacts = (account: string, list: string): string =>
  `(select * from contacts where account_id || '' = ${account} and list_id = ${list} and status = 'active') c`

/** SQL from item, as `c`: all contacts of a list, whatever their status. */
export const membersOfList = (account: string, list: string): string =>
  `(select * from contacts where account_id || '' = ${account} and list_id = ${list}) c`

/** SQL from item, as `c`: row id and address of each address that is active in at least one list. */
export const activeInAnyList = (account: string): string =>
  `(select distinct row_id, email from contacts where account_id = ${account} and status = 'active') c`

const readReasons = statement(
  'verification-reasons',
  { row: { reasons: '_text?' }, parameters: { accountId: 'text', email: 'text' } },
  'select verification_reasons as reasons from addresses where account_id = :accountId and email = :email',
)

/** Returns why verification doubts a normalised address or rejected it. Empty if the account does not have it. */
export const verificationReasons = async ({ sql, accountId }: Work, email: string): Promise<string[]> => {
  const [row] = await sql(readReasons, { accountId, email })
  return row?.reasons ?? []
}
