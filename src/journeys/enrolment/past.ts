import { isAddress, listIdsOf } from '../../contacts/contacts.ts'
import { statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'

/*
 * Which contacts have been in which journeys, for runs that are already purged (journeys.purge.ts). The rows of a person are
 * looked up list by list: there are few lists, and a second index would double the size of the table.
 */

const ofPerson = `
  from (${listIdsOf('$1')}) l cross join lateral (
    select ctid as row, list_id, journey_id from past_entries where account_id = $1 and list_id = l.id and row_id = $2 offset 0
  ) p`

const readEntries = statement<{ journeyId: string; listId: string }>(
  'past-entries-of-address',
  { journeyId: 'text', listId: 'text' },
  `select p.journey_id as "journeyId", p.list_id as "listId" ${ofPerson} order by 1, 2`,
)

/** Returns the purged entries of an address, by its row id. */
export const pastEntriesOf = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  rowId: string,
): Promise<{ journeyId: string; listId: string }[]> => sql(readEntries, [accountId, rowId])

const deleteOfPerson = statement(
  'delete-past-entries-of-address',
  {},
  `delete from past_entries where ctid = any(array(select p.row ${ofPerson}))
     and not ${isAddress({ account: '$1', email: '$3', rowId: '$2' })}`,
)

/**
 * Deletes the entries of an address that has left the account. Call it after the statement that changes its runs: that statement
 * waits for a concurrent purge, and only a later statement sees the entries that the purge inserted.
 */
export const forgetPerson = async ({ sql, accountId }: Work, email: string, rowId: string): Promise<void> => {
  await sql(deleteOfPerson, [accountId, rowId, email])
}

const deleteOfList = statement(
  'delete-past-entries-of-list',
  {},
  'delete from past_entries where account_id = $1 and list_id = $2',
)

/** Deletes the entries of a deleted list. */
export const forgetList = async ({ sql, accountId }: Work, listId: string): Promise<void> => {
  await sql(deleteOfList, [accountId, listId])
}
