import { preparedStatement } from '../store/statement.ts'
import type { AccountSql } from '../store/work.ts'

/* The number of contacts of an account and the limit of its plan. Parameters such as `account` are SQL expressions. */

/** Returns the SQL expression of how many contacts the plan of the account has left. It is null if there is no limit. */
export const contactsLeft = (account: string): string =>
  `(select p.contacts - a.contact_count from accounts a left join plans p on p.name = a.plan where a.id = ${account})`

/**
 * Returns the SQL of a common table expression that adds `units` to the number of contacts, and returns a row. It returns none if
 * `units` is 0 or the plan's limit does not allow them; negative units are always allowed. `after` is a condition that is always true
 * and refers to another part of the statement, which therefore runs first.
 */
export const countingContacts = (account: string, units: string, after: string): string => `
    update accounts a set contact_count = contact_count + ${units}
    where id = ${account} and ${units} <> 0 and ${after}
      and (${units} < 0 or coalesce((select contacts from plans where name = a.plan), 2147483647) >= contact_count + ${units})
    returning 1`

const readLeft = preparedStatement(
  'contacts-left',
  { row: { left: 'int4?' }, parameters: { accountId: 'text' } },
  `select ${contactsLeft(':accountId')} as left`,
)

/** Returns how many new contacts the account's plan allows, or `Infinity` if it has no limit. */
export const readContactsLeft = async ({ sql, accountId }: AccountSql): Promise<number> => {
  const [row] = await sql(readLeft, { accountId })
  return Math.max(0, row?.left ?? Number.POSITIVE_INFINITY)
}
