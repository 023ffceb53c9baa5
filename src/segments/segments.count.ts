import { contactsOfList } from '../contacts/contacts.rows.ts'
import type { Work } from '../store/work.ts'
import { compileSegment } from './segments.compile.ts'
import type { SegmentView } from './segments.find.ts'
import { scanList } from './segments.scan.ts'

/**
 * Counts the contacts of the segment's list that meet its filter. Throws Problem `not_found` if the list was deleted, `invalid` if the
 * filter names something that no longer exists, or contains itself.
 */
export const countSegment = async (work: Work, segment: SegmentView): Promise<number> => {
  const { accountId } = work
  const matcher = await compileSegment(work, segment)
  const params: unknown[] = [accountId, segment.listId]
  const { joins, condition } = matcher.sets((value) => `$${params.push(value)}`)
  const [row] = await scanList<{ count: number }>(
    work,
    `select count(*) from ${contactsOfList('$1', '$2')} ${joins} where ${condition}`,
    params,
  )
  return row!.count
}
