import { Outrun } from '../store/database.ts'
import type { Work } from '../store/work.ts'

/*
 * The only place that changes `row_count` of lists and `contact_count` of accounts. Every writer of a list, and of an account,
 * meets at these rows: they are locked last in a unit of work, lists in the order of their ids before the account, so that
 * nobody who holds one waits for anything else.
 */

interface Counts {
  /** By list: the rows that came, less those that went. */
  rows: Map<string, number>
  addresses: number
}

const counted = new WeakMap<Work, Counts>()

const countLists = `
  update contact_lists l set row_count = l.row_count + n.rows, updated_at = $4 from (
    select l.id, n.rows from unnest($2::text[], $3::int[]) as n(id, rows)
      join contact_lists l on l.account_id = $1 and l.id = n.id
    order by l.id for no key update of l
  ) n where l.id = n.id`

// The limit is asked again here, where nobody else can count: room that was seen before may have gone.
const countAddresses = `
  update accounts a set contact_count = contact_count + $2
  where id = $1 and ($2 <= 0 or coalesce((select contacts from plans where name = a.plan), 2147483647) >= contact_count + $2)
  returning 1`

const writeCounts = async ({ sql, accountId, now }: Work, { rows, addresses }: Counts): Promise<void> => {
  const lists = [...rows].filter(([, count]) => count !== 0)
  if (lists.length > 0) {
    const params = [accountId, lists.map(([id]) => id), lists.map(([, count]) => count), now]
    await sql(countLists, params, 'count-lists')
  }
  if (addresses === 0) return
  const written = await sql(countAddresses, [accountId, addresses], 'count-addresses')
  if (written.length === 0) throw new Outrun('The room for contacts that was seen has gone')
}

/** Counts, at the end of the unit of work, rows that came to a list or left it, and addresses that came to the account or left it. */
export const countContacts = (work: Work, listId: string | null, rows: number, addresses: number): void => {
  let counts = counted.get(work)
  if (!counts) {
    const added: Counts = { rows: new Map(), addresses: 0 }
    counted.set(work, added)
    work.last(() => writeCounts(work, added))
    counts = added
  }
  if (listId !== null) counts.rows.set(listId, (counts.rows.get(listId) ?? 0) + rows)
  counts.addresses += addresses
}

/** Where fewer places than this are free, beside those that are asked for, who wants some takes turns. */
const plentyOfRoom = 5_000

const free = async ({ sql, accountId }: Work): Promise<number> => {
  const [row] = await sql<{ room: number | null }>(
    'select p.contacts - a.contact_count as room from accounts a left join plans p on p.name = a.plan where a.id = $1',
    [accountId],
    'room-for-contacts',
  )
  return row?.room ?? Number.POSITIVE_INFINITY
}

/**
 * How many of `wanted` new addresses the account's plan has room for. Far from the limit nobody waits, and `countContacts` runs
 * the unit again in the end should the room have gone after all. Near it one unit of work at a time has its turn, to the end:
 * `hasTurn` says that it may have waited, and what it had read may have changed.
 */
export const roomFor = async (work: Work, wanted: number): Promise<{ room: number; hasTurn: boolean }> => {
  if ((await free(work)) >= wanted + plentyOfRoom) return { room: wanted, hasTurn: false }
  await work.sql(`select pg_advisory_xact_lock(hashtextextended('contacts of ' || $1, 0))`, [work.accountId])
  return { room: Math.max(0, await free(work)), hasTurn: true }
}
