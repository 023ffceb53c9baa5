import { contactsAt } from '../contacts/contacts.rows.ts'
import type { Work } from '../store/work.ts'
import { compileFilter } from './segments.compile.ts'

/*
 * Filters for single contacts. Every bare name that is not a term is a field, because the contacts may be in any list.
 */

interface Place {
  listId: string
  rowId: string
}

const compile = (work: Work, where: string, at?: Date) =>
  compileFilter(work, where, null, null, { segments: [], counted: { comparisons: 0 }, isAnyField: true, at })

/** Checks a filter and returns it with ids instead of names. Throws Problem `invalid` with the column of the first mistake. */
export const resolveFilter = async (work: Work, where: string): Promise<string> => (await compile(work, where)).withIds

/**
 * Returns whether each of the contacts meets a filter, in their order. Ages, `now` and `today` are relative to `at`.
 * Throws Problem `invalid` with the column of the first mistake.
 */
export const meetFilter = async (
  work: Work,
  where: string,
  contacts: readonly Place[],
  at: Date,
): Promise<boolean[]> => {
  const { condition } = await compile(work, where, at)
  const params: unknown[] = [work.accountId, contacts.map(({ listId }) => listId), contacts.map(({ rowId }) => rowId)]
  const met = condition((value) => `$${params.push(value)}`)
  const rows = await work.sql<{ place: number }>(
    `select c.place::int from ${contactsAt('$1', '$2', '$3')} where ${met}`,
    params,
  )
  const places = new Set(rows.map(({ place }) => place))
  return contacts.map((_, i) => places.has(i + 1))
}
