import { Outrun } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { plainly, type Sorted } from './contacts.place.ts'
import { joining } from './contacts.statement.ts'
import { type Contact, viewContact } from './contacts.view.ts'

/** A list that is written into, its columns in their order. */
interface OpenList {
  id: string
  name: string
  fields: readonly string[]
}

/** What was added, as reading it would give it. */
export const viewAdded = (
  { now }: Work,
  { id, name, fields: listFields }: OpenList,
  { fresh, judged }: Sorted,
  status: Contact['status'],
): Contact[] =>
  fresh.map(({ email, fields, rowId }) => {
    const verdict = judged.get(email)
    return viewContact({
      ...{ listId: id, listName: name, listFields: [...listFields], rowId, email, fields, status },
      ...{ verdict: verdict?.status ?? null, reasons: verdict?.reasons ?? null, checkedAt: verdict ? now : null },
      ...{ createdAt: now, updatedAt: now },
    })
  })

/** Adds known addresses, which are locked, to the list. Throws `Outrun` where one is in it meanwhile, or gone. */
export const joinKnown = (
  { sql, accountId, now }: Work,
  listId: string,
  { known }: Sorted,
  rowIds: ReadonlyMap<string, string>,
  status: Contact['status'],
): Promise<unknown> => {
  const rows = known.map(({ email, fields }) => {
    const rowId = rowIds.get(email)
    if (rowId === undefined) throw new Outrun('An address was removed meanwhile')
    return { email, fields, rowId }
  })
  return plainly(sql(joining, [accountId, listId, JSON.stringify(rows), now, status], 'join-contacts'))
}
