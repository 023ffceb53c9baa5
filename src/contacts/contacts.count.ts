import { SerializationConflict } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { extendColumns, maxColumns } from './contacts.lists.ts'

/*
 * What a unit of work does last to lists and their account, and the only place that changes `row_count` and `fields` of lists and
 * `contact_count` of accounts. Every writer of a list, and of an account, meets at these rows: they are locked lists in the order
 * of their ids before the account, so that nobody who holds one waits for anything else. Nobody shares a list's row before: who is
 * about to update it would then wait for those behind it, who wait for it (both look at the version that was there first).
 */

/** The list or the plan's room has changed since it was read. The unit of work runs again, and its first statements refuse it. */
const changed = () => new SerializationConflict('The list or the room for contacts has changed')

interface Ending {
  /** By list: the rows that came, less those that went. */
  rows: Map<string, number>
  addresses: number
  /** By list: the columns that are new to it. */
  columns: Map<string, readonly string[]>
}

const endings = new WeakMap<Work, Ending>()

const endingOf = (work: Work): Ending =>
  endings.getOrInsertComputed(work, () => {
    const ending: Ending = { rows: new Map(), addresses: 0, columns: new Map() }
    work.last(async () => {
      await writeColumns(work, ending)
      await writeCounts(work, ending)
    })
    return ending
  })

// Each part asks for what the one before it has done: that is its order. The limit is asked again here, where nobody else can
// count: room that was seen before may have gone.
const counting = `
  with list as (
    update contact_lists l set row_count = l.row_count + n.rows, updated_at = $4 from (
      select l.id, n.rows from unnest($2::text[], $3::int[]) as n(id, rows)
        join contact_lists l on l.account_id = $1 and l.id = n.id
      order by l.id for no key update of l
    ) n where l.id = n.id returning l.id
  ), account as (
    update accounts a set contact_count = contact_count + $5 where id = $1 and $5 <> 0 and (select count(*) from list) >= 0
      and ($5 < 0 or coalesce((select contacts from plans where name = a.plan), 2147483647) >= contact_count + $5)
    returning 1
  )
  select array(select id from list) as lists, exists (select from account) as "isCounted"`

const counted = ({ rows }: Ending) => [...rows].filter(([, count]) => count !== 0)

const lockLists =
  'select id, fields from contact_lists where account_id = $1 and id = any($2) order by id for no key update'

/** All lists that are written to are locked here, where any of them has new columns. */
const writeColumns = async ({ sql, accountId, now }: Work, ending: Ending): Promise<void> => {
  const { columns } = ending
  if (columns.size === 0) return
  const ids = new Set([...columns.keys(), ...counted(ending).map(([id]) => id)])
  const lists = await sql<{ id: string; fields: string[] }>(lockLists, [accountId, [...ids]])
  for (const [id, names] of columns) {
    const list = lists.find((one) => one.id === id)
    const fields = new Set([...(list?.fields ?? []), ...names])
    if (!list || fields.size > maxColumns) throw changed()
    if (fields.size === list.fields.length) continue
    await sql('update contact_lists set fields = $3, updated_at = $4 where account_id = $1 and id = $2', [
      accountId,
      id,
      [...fields],
      now,
    ])
  }
}

const writeCounts = async ({ sql, accountId, now }: Work, ending: Ending): Promise<void> => {
  const { addresses } = ending
  const lists = counted(ending)
  if (lists.length === 0 && addresses === 0) return
  const params = [accountId, lists.map(([id]) => id), lists.map(([, count]) => count), now, addresses]
  const [written] = await sql<{ lists: string[]; isCounted: boolean }>(counting, params, 'count-contacts')
  // A list that is deleted meanwhile takes nothing; what leaves it does so by the way.
  if (lists.some(([id, count]) => count > 0 && !written!.lists.includes(id))) throw changed()
  if (addresses !== 0 && !written!.isCounted) throw changed()
}

/** Counts, at the end of the unit of work, rows that came to a list or left it, and addresses that came to the account or left it. */
export const countContacts = (work: Work, listId: string | null, rows: number, addresses: number): void => {
  const ending = endingOf(work)
  if (listId !== null) ending.rows.set(listId, (ending.rows.get(listId) ?? 0) + rows)
  ending.addresses += addresses
}

/**
 * Adds, at the end of the unit of work, columns that are new to a list, which has these `fields` now. Gives all that it is to
 * have then. Throws Problem `invalid` where they are more than 40.
 */
export const addColumns = (
  work: Work,
  { id, fields }: { id: string; fields: readonly string[] },
  names: Iterable<string>,
): string[] => {
  const extended = extendColumns(fields, [...(endings.get(work)?.columns.get(id) ?? []), ...names])
  if (extended.length > fields.length) endingOf(work).columns.set(id, extended.slice(fields.length))
  return extended
}
