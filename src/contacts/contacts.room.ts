import { lockKey } from '../store/locks.ts'
import type { Work } from '../store/work.ts'

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
 * no writer waits, and `countContacts` runs the unit of work again if the room is gone in the end. Near the limit, and for queued
 * units of work (contacts.contention.ts), one unit at a time has the account's ticket, until it ends: `hasTicket` means that it
 * may have waited, also for `turn`, so what it has read may have changed.
 */
export const roomFor = async (
  { sql, accountId }: Work,
  wanted: number,
  { seen, turn, isQueued }: { seen: number | null; turn: () => Promise<void>; isQueued: boolean },
): Promise<{ places: number; hasTicket: boolean }> => {
  if (hasPlenty(seen, wanted) && !isQueued) return { places: wanted, hasTicket: false }
  await turn()
  await sql(`select pg_advisory_xact_lock(${lockKey('room', '$1')})`, [accountId])
  const [left] = await sql<{ room: number | null }>(`select ${roomLeft} as room`, [accountId], 'room-for-contacts')
  return { places: Math.max(0, left!.room ?? Number.POSITIVE_INFINITY), hasTicket: true }
}
