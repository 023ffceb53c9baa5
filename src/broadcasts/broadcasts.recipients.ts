import { activeContacts, type Recipient, readRecipientsOf } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { compileFilter, type FilterNames, type Matcher, scanList } from '../segments/segments.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'

/*
 * The recipients of a broadcast with a filter. What the filter compares may change while emails go out (some of it because they do),
 * so the contacts that meet it are decided once, when the broadcast begins. Steps take them in rows, each in one transaction.
 */

/** The number of contacts in a row: as many as a step queues. */
const perRow = 500

/** Why a broadcast without a list does not begin. */
export const listDeleted = 'Its list was deleted'

interface Filtered {
  id: string
  listId: string
  filter: string
  filterNames: FilterNames | null
}

/** Returns the matcher, or a sentence that says why the filter can't be evaluated: its list, or something that it names, was deleted. */
const compile = async (work: Work, { filter, listId, filterNames }: Filtered): Promise<Matcher | string> => {
  try {
    return await compileFilter(work, filter, listId, filterNames)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.kind === 'not_found') return listDeleted
    if (error.kind === 'invalid') return error.message
    throw error
  }
}

/**
 * Stores the active contacts of the list that meet the filter now, and returns their number; or a sentence why the filter can't be
 * evaluated, because its list or something that it names was deleted.
 */
export const decideRecipients = async (work: Work, filtered: Filtered): Promise<number | string> => {
  const { id, listId } = filtered
  const matcher = await compile(work, filtered)
  if (typeof matcher === 'string') return matcher
  const params: unknown[] = [work.accountId, listId, id]
  const { joins, condition } = matcher.sets((value) => `$${params.push(value)}`)
  const [row] = await scanList<{ recipients: number }>(
    work,
    `with stored as (
       insert into broadcast_recipients (account_id, broadcast_id, number, row_ids)
       select $1, $3, number, array_agg(row_id order by row_id) from (
         select c.row_id, (row_number() over (order by c.row_id) - 1) / ${perRow} as number
         from ${activeContacts('$1', '$2')} ${joins} where ${condition}
       ) numbered group by number returning cardinality(row_ids) as size
     )
     select coalesce(sum(size), 0)::int8 as recipients from stored`,
    params,
  )
  return row!.recipients
}

const takeRow = preparedStatement<{ rowIds: string[] }>(
  'take-broadcast-recipients',
  { rowIds: '_text' },
  `delete from broadcast_recipients where account_id = $1 and broadcast_id = $2 and number = (
     select min(number) from broadcast_recipients where account_id = $1 and broadcast_id = $2
   ) returning row_ids as "rowIds"`,
)

/** Takes the next row: returns those of its contacts that are still active, and the last row id; null after the last row. */
export const takeRecipients = async (
  work: Work,
  { id, listId }: { id: string; listId: string },
): Promise<{ recipients: Recipient[]; last: string } | null> => {
  const [row] = await work.sql(takeRow, [work.accountId, id])
  if (!row) return null
  return { recipients: await readRecipientsOf(work, listId, row.rowIds), last: row.rowIds.at(-1)! }
}

const deleteRows = statement(
  'delete-broadcast-recipients',
  {},
  'delete from broadcast_recipients where account_id = $1 and broadcast_id = $2',
)

/** Deletes the rows that no step has taken. */
export const dropRecipients = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  await sql(deleteRows, [accountId, id])
}
