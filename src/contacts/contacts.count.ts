import { missing } from '../lib/problem.ts'
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

const writeCounts = async ({ sql, accountId, now }: Work, { rows, addresses }: Counts): Promise<void> => {
  const lists = [...rows].filter(([, count]) => count !== 0)
  if (lists.length === 0 && addresses === 0) return
  const params = [accountId, lists.map(([id]) => id), lists.map(([, count]) => count), now, addresses]
  const [counted] = await sql<{ lists: string[]; isCounted: boolean }>(counting, params, 'count-contacts')
  // A list that is deleted meanwhile takes nothing; what leaves it does so by the way.
  if (lists.some(([id, count]) => count > 0 && !counted!.lists.includes(id))) throw missing('There is no such list')
  if (addresses !== 0 && !counted!.isCounted) throw new Outrun('The room for contacts that was seen has gone')
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

/** Whether so many new addresses have room without a look at what others take, where `seen` were left a moment ago (null: no limit). */
export const hasPlenty = (seen: number | null, wanted: number): boolean =>
  seen === null || seen >= wanted + plentyOfRoom

/** The places that the plan of the account ($1) has left; null: no limit. */
export const roomLeft =
  '(select p.contacts - a.contact_count from accounts a left join plans p on p.name = a.plan where a.id = $1)'

/**
 * How many of `wanted` new addresses the account's plan has room for, where `seen` were left a moment ago. Far from the limit
 * nobody waits, and `countContacts` runs the unit again in the end should the room have gone after all. Near it one unit of work
 * at a time has its turn, to the end: `hasTurn` says that it may have waited, also for `turn`, and what it had read may have changed.
 */
export const roomFor = async (
  { sql, accountId }: Work,
  wanted: number,
  { seen, turn }: { seen: number | null; turn: () => Promise<void> },
): Promise<{ places: number; hasTurn: boolean }> => {
  if (hasPlenty(seen, wanted)) return { places: wanted, hasTurn: false }
  await turn()
  await sql(`select pg_advisory_xact_lock(hashtextextended('contacts of ' || $1, 0))`, [accountId])
  const [left] = await sql<{ room: number | null }>(`select ${roomLeft} as room`, [accountId], 'room-for-contacts')
  return { places: Math.max(0, left!.room ?? wanted), hasTurn: true }
}
