import { timelinePart } from '../contacts/contacts.ts'

/** A member's keys, finished lessons and completed courses. */
export const timeline = timelinePart(
  'courses',
  `with member as materialized (select id from members where account_id = :accountId and email = :email)
   select v.at, v.kind, c.title, c.id
   from member m join enrolments e on e.account_id = :accountId and e.member_id = m.id
   join courses c on c.account_id = :accountId and c.id = e.course_id
   cross join lateral (
     values (e.created_at, 'course.enrolled'), (case when not e.active then e.updated_at end, 'course.revoked')
   ) as v(at, kind) where v.at is not null
   union all
   select f.finished_at, 'lesson.finished', l.title, l.id
   from member m join finished_lessons f on f.account_id = :accountId and f.member_id = m.id
   join lessons l on l.account_id = :accountId and l.id = f.lesson_id
   union all
   select o.completed_at, 'course.completed', c.title, c.id
   from member m join course_completions o on o.account_id = :accountId and o.member_id = m.id
   join courses c on c.account_id = :accountId and c.id = o.course_id`,
)
