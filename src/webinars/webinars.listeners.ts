import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const detaching = statement(
  'detach-course',
  {},
  `update webinars set course_id = null, updated_at = $3 where account_id = $1 and id = any(array(
     select id from webinars where account_id = $1 and course_id = $2 order by id for no key update
   ))`,
)

/** Detaches the webinars of a deleted course. */
export const detachCourse: Listener = {
  async courseDeleted({ sql, accountId, now }, id) {
    await sql(detaching, [accountId, id, now])
  },
}
