import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const detachWebinars = statement(
  'detach-course',
  { parameters: { accountId: 'text', id: 'text', now: 'timestamptz' } },
  `update webinars set course_id = null, updated_at = :now where account_id = :accountId and id = any(array(
     select id from webinars where account_id = :accountId and course_id = :id order by id for no key update
   ))`,
)

/** Detaches the webinars of a deleted course. */
export const detachCourse: Listener = {
  async courseDeleted({ sql, accountId, now }, id) {
    await sql(detachWebinars, { accountId, id, now })
  },
}
