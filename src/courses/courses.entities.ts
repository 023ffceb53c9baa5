import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

const CourseSchema = defineEntity({
  name: 'Course',
  tableName: 'courses',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    title: p.text(),
    published: p.boolean(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    lessonCount: p
      .integer()
      .formula(
        ({ accountId, id }) =>
          `(select count(*) from lessons l where l.account_id = ${accountId} and l.course_id = ${id})`,
      ),
  },
})
export class Course extends CourseSchema.class {}
CourseSchema.setClass(Course)

/** A deleted course whose keys and progress are still being deleted (courses.delete.ts). */
const DeletedCourseSchema = defineEntity({
  name: 'DeletedCourse',
  tableName: 'deleted_courses',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    startedAt: p.datetime(),
  },
})
export class DeletedCourse extends DeletedCourseSchema.class {}
DeletedCourseSchema.setClass(DeletedCourse)

const LessonSchema = defineEntity({
  name: 'Lesson',
  tableName: 'lessons',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'courseId', 'position'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    courseId: p.text().collation('C'),
    title: p.text(),
    /** CommonMark. */
    content: p.text(),
    /** The content as sanitised HTML, rendered when it is written (courses.markdown.ts). */
    html: p.text().default(''),
    videoUrl: p.text().nullable(),
    /** The position in its course, from 1. It is assigned under the lock of the course. */
    position: p.integer(),
  },
})
export class Lesson extends LessonSchema.class {}
LessonSchema.setClass(Lesson)

/** An address of the account's membership, with or without an active key. Its id never changes. */
const MemberSchema = defineEntity({
  name: 'Member',
  tableName: 'members',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'email'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    email: p.text().collation('C'),
    createdAt: p.datetime(),
  },
})
export class Member extends MemberSchema.class {}
MemberSchema.setClass(Member)

/**
 * A course's key to the whole membership. A member is entitled while any of their keys is active. It is changed under the
 * member's lock.
 */
const EnrolmentSchema = defineEntity({
  name: 'Enrolment',
  tableName: 'enrolments',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId', 'courseId', 'memberId'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    memberId: p.text().collation('C').primary(),
    courseId: p.text().collation('C').primary(),
    active: p.boolean(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Enrolment extends EnrolmentSchema.class {}
EnrolmentSchema.setClass(Enrolment)

/** A lesson that a member has finished. Written under the member's lock, so that exactly one transaction completes the course. */
const FinishedLessonSchema = defineEntity({
  name: 'FinishedLesson',
  tableName: 'finished_lessons',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    memberId: p.text().collation('C').primary(),
    courseId: p.text().collation('C').primary(),
    lessonId: p.text().collation('C').primary(),
    finishedAt: p.datetime(),
  },
})
export class FinishedLesson extends FinishedLessonSchema.class {}
FinishedLessonSchema.setClass(FinishedLesson)

/** A course that a member has completed. It is permanent: lessons that are added later don't change it. */
const CompletionSchema = defineEntity({
  name: 'Completion',
  tableName: 'course_completions',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    memberId: p.text().collation('C').primary(),
    courseId: p.text().collation('C').primary(),
    completedAt: p.datetime(),
    /** The name on the certificate, as the member entered it. While it is null, the certificate shows the masked address. */
    name: p.text().nullable(),
  },
})
export class Completion extends CompletionSchema.class {}
CompletionSchema.setClass(Completion)
