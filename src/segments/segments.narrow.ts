import { findList, type Narrow } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { compileFilter, compileSegment } from './segments.compile.ts'
import { findSegment } from './segments.find.ts'

/**
 * Finds the contacts that `--list`, `--where` and `--segment` name. Throws Problem `usage`, `not_found` for the list or the segment, or
 * `invalid` with the column of a mistake in the filter.
 */
export const narrow: Narrow = async (work, { list, where, segment }) => {
  if (segment === undefined) {
    if (where === undefined) return { list }
    const listId = list === undefined ? null : (await findList(work, list)).id
    return { list: listId ?? undefined, condition: (await compileFilter(work, where, listId)).condition }
  }
  if (list !== undefined || where !== undefined)
    throw new Problem('usage', '--segment can not be combined with --list or --where')
  const found = await findSegment(work, segment)
  return { list: found.listId, condition: (await compileSegment(work, found)).condition }
}
