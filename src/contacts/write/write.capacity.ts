import { readContactsLeft } from '../../accounts/accounts.ts'
import type { Work } from '../../store/work.ts'
import { takeTicket } from './contention.ts'

/** Near the plan limit (fewer spare contacts than this after the write) writers are serialised. */
const ampleCapacity = 5_000

/**
 * Returns whether `wanted` new addresses fit without serialising, if `seen` contacts were left a moment ago. There is no limit if
 * it is null.
 */
export const hasAmpleCapacity = (seen: number | null, wanted: number): boolean =>
  seen === null || seen >= wanted + ampleCapacity

/**
 * Returns how many new addresses the account's plan allows, if `seen` were left a moment ago. Far from the limit no writer waits:
 * if the capacity is gone in the end, `countContacts` runs the unit of work again. Near the limit, and for queued units of work
 * (contacts/write/contention.ts), it takes the account's ticket, which one unit of work at a time holds until it ends.
 * `hasTicket` says that it may have waited for the ticket, or for `turn`, so data that was read before may be outdated.
 */
export const reserveCapacity = async (
  work: Work,
  wanted: number,
  { seen, turn, isQueued }: { seen: number | null; turn: () => Promise<void>; isQueued: boolean },
): Promise<{ allowed: number; hasTicket: boolean }> => {
  if (hasAmpleCapacity(seen, wanted) && !isQueued) return { allowed: wanted, hasTicket: false }
  await turn()
  await takeTicket(work)
  return { allowed: await readContactsLeft(work), hasTicket: true }
}
