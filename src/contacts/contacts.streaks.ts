/*
 * Where batch after batch brings a list nothing but new addresses, as the first import of a customer's contacts does, looking
 * for what is there costs a fifth of the write and finds nothing. After a streak of such batches the next one is added without
 * a look. A known address among them is a conflict: the unit of work runs again, and looks.
 */

/** Fewer addresses are looked for in no time, and come in no streaks. */
const fewest = 100
/** Batches in a row. */
const streak = 2
/** Of lists with a streak. What is forgotten is looked at. */
const mostLists = 1_000

const streaks = new Map<string, number>()

/** Whether a write of so many addresses into the list may take them to be new to the account. */
export const areLikelyNew = (listId: string, addresses: number): boolean =>
  addresses >= fewest && (streaks.get(listId) ?? 0) >= streak

export const endStreak = (listId: string): void => {
  streaks.delete(listId)
}

/** Tells of a write that looked, how many of its addresses were new to the account. */
export const tellOfWrite = (listId: string, { addresses, fresh }: { addresses: number; fresh: number }): void => {
  if (addresses < fewest) return
  if (fresh < addresses) endStreak(listId)
  else {
    if (streaks.size >= mostLists) streaks.clear()
    streaks.set(listId, (streaks.get(listId) ?? 0) + 1)
  }
}
