import { isAddress, listIdsOf } from '../../contacts/contacts.rows.ts'
import { statement } from '../../store/statement.ts'
import type { AccountSql, Work } from '../../store/work.ts'

/*
 * Which contacts have been in which journeys, for runs that are already purged (journeys.purge.ts). The rows of a person are
 * looked up list by list: there are few lists, and a second index would double the size of the table.
 */

const ofPerson = `
  from (${listIdsOf(':accountId')}) l cross join lateral (
    select ctid as row, list_id, journey_id from past_entries where account_id = :accountId and list_id = l.id and row_id = :rowId offset 0
  ) p`

const readEntries = statement(
  'past-entries-of-address',
  { row: { journeyId: 'text', listId: 'text' }, parameters: { accountId: 'text', rowId: 'text' } },
  `select p.journey_id as "journeyId", p.list_id as "listId" ${ofPerson} order by 1, 2`,
)

/** Returns the purged entries of an address, by its row id. */
export const pastEntriesOf = (
  { sql, accountId }: AccountSql,
  rowId: string,
): Promise<{ journeyId: string; listId: string }[]> => sql(readEntries, { accountId, rowId })

const deleteOfPerson = statement(
  'delete-past-entries-of-address',
  { parameters: { accountId: 'text', rowId: 'text', email: 'text' } },
  `delete from past_entries where ctid = any(array(select p.row ${ofPerson}))
     and not ${isAddress({ account: ':accountId', email: ':email', rowId: ':rowId' })}`,
)

/**
 * Deletes the entries of an address that has left the account. Call it after the statement that changes its runs: that statement
 * waits for a concurrent purge, and only a later statement sees the entries that the purge inserted.
 */
export const forgetPerson = async ({ sql, accountId }: Work, email: string, rowId: string): Promise<void> => {
  await sql(deleteOfPerson, { accountId, rowId, email })
}

const deleteOfList = statement(
  'delete-past-entries-of-list',
  { parameters: { accountId: 'text', listId: 'text' } },
  'delete from past_entries where account_id = :accountId and list_id = :listId',
)

/** Deletes the entries of a deleted list. */
export const forgetList = async ({ sql, accountId }: Work, listId: string): Promise<void> => {
  await sql(deleteOfList, { accountId, listId })
}
