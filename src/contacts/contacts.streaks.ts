/*
 * Where batch after batch brings a list nothing but new addresses, as the first import of a customer's contacts does, looking
 * for what is there costs a fifth of the write and finds nothing. After a streak of such batches the next one is added without
 * a look. A known address among them is a conflict: the unit of work runs again, and looks, as all writes into the list do for
 * a while.
 */

/** Fewer addresses are looked for in no time, and come in no streaks. */
const fewest = 100
/** Batches in a row. */
const streak = 2
/** Longer than a unit of work may run again and again. */
const restMs = 60_000
/** What is forgotten is looked at. */
const mostLists = 1_000

interface Streak {
  batches: number
  /** Not before, by `performance.now()`. */
  from: number
}

const streaks = new Map<string, Streak>()

/** In place of what was kept longest ago, where there are too many. */
const keep = (listId: string, kept: Streak): void => {
  streaks.delete(listId)
  if (streaks.size >= mostLists) streaks.delete(streaks.keys().next().value!)
  streaks.set(listId, kept)
}

/** Whether a write of so many addresses into the list may take them to be new to the account. */
export const areLikelyNew = (listId: string, addresses: number): boolean => {
  const { batches, from } = streaks.get(listId) ?? { batches: 0, from: 0 }
  return addresses >= fewest && batches >= streak && performance.now() >= from
}

/** Tells that an address was there that was taken for new, or has come meanwhile. */
export const endStreak = (listId: string): void => keep(listId, { batches: 0, from: performance.now() + restMs })

/** Tells of a write that looked, how many of its addresses were new to the account. */
export const tellOfWrite = (listId: string, { addresses, fresh }: { addresses: number; fresh: number }): void => {
  const { batches, from } = streaks.get(listId) ?? { batches: 0, from: 0 }
  if (addresses >= fewest) keep(listId, { batches: fresh < addresses ? 0 : batches + 1, from })
}
