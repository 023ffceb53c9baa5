import type { Term } from '../segments/segments.ts'
import { findCourseNamed } from './courses.find.ts'

/** The courses whose key of an address is active. */
export const terms: readonly Term[] = [
  {
    name: 'course',
    kind: 'name',
    find: async (work, ref) => [(await findCourseNamed(work, ref)).id],
    rows: ({ account }) => ({
      from: 'enrolments e join members m on m.account_id = e.account_id and m.id = e.member_id',
      where: `m.account_id = ${account} and e.active`,
      email: 'm.email',
      value: 'e.course_id',
    }),
  },
]
