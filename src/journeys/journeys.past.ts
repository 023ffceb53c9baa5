import type { Work } from '../store/work.ts'

/*
 * Which contacts have been in which journeys, as far as their runs are no longer kept (journeys.purge.ts). The rows of a person
 * are found list by list: there are few lists, and a second index would double what is kept of each contact.
 */

const ofPerson = `
  from (
    select id from contact_lists where account_id = $1 union all select id from leaving_lists where account_id = $1
  ) l cross join lateral (
    select ctid as row, list_id, journey_id from past_entries where account_id = $1 and list_id = l.id and row_id = $2 offset 0
  ) p`

/** The journeys that an address has been in, by its row id. */
export const pastEntriesOf = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  rowId: string,
): Promise<{ journeyId: string; listId: string }[]> =>
  sql(`select p.journey_id as "journeyId", p.list_id as "listId" ${ofPerson} order by 1, 2`, [accountId, rowId])

/**
 * Forgets where an address has been that has left the account. Call it after its runs were changed: a purge that is under way
 * has locked them, and what it remembers is seen by a later statement.
 */
export const forgetPerson = async ({ sql, accountId }: Work, email: string, rowId: string): Promise<void> => {
  await sql(
    `delete from past_entries where ctid = any(array(select p.row ${ofPerson}))
       and not exists (select from addresses where account_id = $1 and email = $3 and row_id = $2)`,
    [accountId, rowId, email],
  )
}

/** Forgets the entries from a list that is deleted. */
export const forgetList = async ({ sql, accountId }: Work, listId: string): Promise<void> => {
  await sql('delete from past_entries where account_id = $1 and list_id = $2', [accountId, listId])
}
