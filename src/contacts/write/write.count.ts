import { countingContacts } from '../../accounts/accounts.ts'
import { SerializationConflict } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import { stateKey } from '../../store/work-state.ts'
import { maxColumns } from '../contacts.fields.ts'
import { tallyingAdded } from '../contacts.stats.ts'
import { extendColumns } from '../lists/lists.ts'

/*
 * Updates the counters of lists and accounts at the end of a unit of work. This is the only place that changes `row_count` and
 * `fields` of lists and `contact_count` of accounts. All writers of a list or an account contend for these rows, so they are locked
 * last, lists in the order of their ids before the account: a transaction that holds one of them waits for nothing else. List rows
 * must not be share-locked earlier: two transactions that share the lock and then update the row would deadlock. So a writer into a
 * list that is being deleted learns it only here.
 */

/** The list or the plan's capacity has changed since it was read. The unit of work runs again, and its first statements see the change. */
const outdated = () => new SerializationConflict('The list or the capacity for contacts has changed')

interface PendingCounts {
  /** The number of added rows minus that of removed rows, by list. */
  rows: Map<string, number>
  addresses: number
  /** Addresses that are new to the account. */
  added: number
  /** The new columns by list. */
  columns: Map<string, readonly string[]>
}

const pendingCounts = stateKey((work) => {
  const pending: PendingCounts = { rows: new Map(), addresses: 0, added: 0, columns: new Map() }
  work.last(async () => {
    await writeColumns(work, pending)
    await writeCounts(work, pending)
  })
  return pending
})

// The account's update depends on the list's, which fixes their order. The limit is checked again here, under the row lock: capacity
// that was seen before may be gone.
const updateCounts = preparedStatement(
  'count-contacts',
  {
    row: { lists: '_text', isCounted: 'bool' },
    parameters: {
      accountId: 'text',
      listIds: '_text',
      rows: '_int4',
      now: 'timestamptz',
      addresses: 'int4',
      added: 'int4',
    },
  },
  `
  with list as (
    update contact_lists l set row_count = l.row_count + n.rows, updated_at = :now from (
      select l.id, n.rows from unnest(:listIds::text[], :rows::int[]) as n(id, rows)
        join contact_lists l on l.account_id = :accountId and l.id = n.id
      order by l.id for no key update of l
    ) n where l.id = n.id returning l.id
  ), account as (${countingContacts(':accountId', ':addresses', '(select count(*) from list) >= 0')}
  ), tallied as (${tallyingAdded(':accountId', ':now', ':added')}
  )
  select array(select id from list) as lists, exists (select from account) as "isCounted"`,
)

const counted = ({ rows }: PendingCounts) => [...rows].filter(([, count]) => count !== 0)

const lockLists = statement(
  'lock-lists',
  { row: { id: 'text', fields: '_text' }, parameters: { accountId: 'text', ids: '_text' } },
  'select id, fields from contact_lists where account_id = :accountId and id = any(:ids) order by id for no key update',
)

const updateColumns = statement(
  'update-columns-of-list',
  { parameters: { accountId: 'text', id: 'text', fields: '_text', now: 'timestamptz' } },
  'update contact_lists set fields = :fields, updated_at = :now where account_id = :accountId and id = :id',
)

/** Adds the new columns. If there are any, locks all lists that the unit of work changes, in the order of their ids. */
const writeColumns = async ({ sql, accountId, now }: Work, pending: PendingCounts): Promise<void> => {
  const { columns } = pending
  if (columns.size === 0) return
  const ids = new Set([...columns.keys(), ...counted(pending).map(([id]) => id)])
  const lists = await sql(lockLists, { accountId, ids: [...ids] })
  for (const [id, names] of columns) {
    const list = lists.find((one) => one.id === id)
    const fields = new Set([...(list?.fields ?? []), ...names])
    if (!list || fields.size > maxColumns) throw outdated()
    if (fields.size === list.fields.length) continue
    await sql(updateColumns, { accountId, id, fields: [...fields], now })
  }
}

const writeCounts = async ({ sql, accountId, now }: Work, pending: PendingCounts): Promise<void> => {
  const { addresses, added } = pending
  const lists = counted(pending)
  if (lists.length === 0 && addresses === 0 && added === 0) return
  const [listIds, rows] = [lists.map(([id]) => id), lists.map(([, count]) => count)]
  const [written] = await sql(updateCounts, { accountId, listIds, rows, now, addresses, added })
  // A list that was deleted meanwhile accepts no new contacts. Removing contacts from it needs no count.
  if (lists.some(([id, count]) => count > 0 && !written!.lists.includes(id))) throw outdated()
  if (addresses !== 0 && !written!.isCounted) throw outdated()
}

/**
 * Adds to the counters at the end of the unit of work: rows of a list, and addresses of the account. The numbers are negative for
 * removals.
 */
export const countContacts = (work: Work, listId: string | null, rows: number, addresses: number): void => {
  const pending = work.state(pendingCounts)
  if (listId !== null) pending.rows.set(listId, (pending.rows.get(listId) ?? 0) + rows)
  pending.addresses += addresses
  pending.added += Math.max(addresses, 0)
}

/** Returns the columns of a list, including those that this unit of work adds. `fields` are its current ones. */
export const columnsOf = (work: Work, { id, fields }: { id: string; fields: readonly string[] }): string[] => [
  ...fields,
  ...(work.state(pendingCounts).columns.get(id) ?? []),
]

/**
 * Adds new columns to a list at the end of the unit of work. `fields` are the list's current columns. Returns all columns that
 * the list will have. Throws Problem `invalid` if they are more than 40.
 */
export const addColumns = (
  work: Work,
  { id, fields }: { id: string; fields: readonly string[] },
  names: Iterable<string>,
): string[] => {
  const extended = extendColumns(fields, [...columnsOf(work, { id, fields }), ...names])
  if (extended.length > fields.length) work.state(pendingCounts).columns.set(id, extended.slice(fields.length))
  return extended
}
