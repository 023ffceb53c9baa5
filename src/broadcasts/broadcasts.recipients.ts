import { type Recipient, readRecipientsIn } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { scanList } from '../segments/segments.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { anyList, queryOfAudience } from './broadcasts.audience.ts'
import type { Audience, Variants } from './broadcasts.entities.ts'
import { isOfRest } from './broadcasts.variants.ts'

/*
 * The recipients of a broadcast, unless it goes to a whole list. What a filter compares may change while emails go out,
 * and sending itself changes some of it. So the recipients are decided once, when the broadcast begins. Steps take them
 * in rows, each in one transaction.
 */

/** The number of contacts in a row: as many as a step queues. */
const perRow = 500

/** Why a broadcast without a list does not begin. */
export const listDeleted = 'Its list was deleted'

/**
 * Stores the current recipients and returns their number. If a list or something that a filter names was deleted,
 * returns a sentence that says so.
 */
export const decideRecipients = async (
  work: Work,
  id: string,
  audience: Audience,
  variants: Variants | null,
): Promise<number | string> => {
  const params: unknown[] = [work.accountId, id]
  let query: string
  try {
    query = await queryOfAudience(work, audience, (value) => `$${params.push(value)}`)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.kind === 'not_found') return listDeleted
    if (error.kind === 'invalid') return error.message
    throw error
  }
  const [row] = await scanList<{ recipients: number }>(
    work,
    `with numbered as (
       select row_id, list_ids, is_rest, (row_number() over (partition by is_rest, list_ids order by row_id) - 1) / ${perRow} as part
       from (select q.*, ${variants ? isOfRest('q.email', variants) : 'false'} as is_rest from (${query}) q) q
     ), packed as (
       select is_rest, list_ids, part, array_agg(row_id order by row_id) as row_ids from numbered
       group by is_rest, list_ids, part
     ), stored as (
       insert into broadcast_recipients (account_id, broadcast_id, number, list_ids, row_ids, is_rest)
       select $1, $2, row_number() over (order by is_rest, list_ids, part) - 1, list_ids, row_ids, is_rest
       from packed
       returning cardinality(row_ids) as size
     )
     select coalesce(sum(size), 0)::int8 as recipients from stored`,
    params,
  )
  return row!.recipients
}

const takeRow = preparedStatement(
  'take-broadcast-recipients',
  { row: { rowIds: '_text', listIds: '_text?' }, parameters: { accountId: 'text', id: 'text' } },
  `delete from broadcast_recipients where account_id = :accountId and broadcast_id = :id and number = (
     select min(number) from broadcast_recipients where account_id = :accountId and broadcast_id = :id
   ) returning row_ids as "rowIds", list_ids as "listIds"`,
)

/** Takes the next row: returns those of its contacts that are still active, and the last row id. The id is null after the last row. */
export const takeRecipients = async (
  work: Work,
  { id, listId }: { id: string; listId: string },
): Promise<{ recipients: Recipient[]; last: string } | null> => {
  const [row] = await work.sql(takeRow, { accountId: work.accountId, id })
  if (!row) return null
  const { rowIds, listIds } = row
  const recipients = await readRecipientsIn(work, listIds?.[0] === anyList ? null : (listIds ?? [listId]), rowIds)
  return { recipients, last: rowIds.at(-1)! }
}

const readNextIsRest = preparedStatement(
  'is-rest-next',
  { row: { isRest: 'bool?' }, parameters: { accountId: 'text', id: 'text' } },
  `select is_rest as "isRest" from broadcast_recipients where account_id = :accountId and broadcast_id = :id order by number limit 1`,
)

/** Returns whether the next row is of the rest, so that the share that gets variants has been taken. */
export const isRestNext = async ({ sql, accountId }: Work, id: string): Promise<boolean> =>
  (await sql(readNextIsRest, { accountId, id }))[0]?.isRest === true

const deleteRows = statement(
  'delete-broadcast-recipients',
  { parameters: { accountId: 'text', id: 'text' } },
  'delete from broadcast_recipients where account_id = :accountId and broadcast_id = :id',
)

/** Deletes the rows that no step has taken. */
export const dropRecipients = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  await sql(deleteRows, { accountId, id })
}
