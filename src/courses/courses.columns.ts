// Generated from courses.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/tables.ts'

export const courseCompletions = table('course_completions', {
  accountId: 'text',
  memberId: 'text',
  courseId: 'text',
  completedAt: 'timestamptz',
  name: 'text?',
})

export const courses = table('courses', {
  accountId: 'text',
  id: 'text',
  title: 'text',
  published: 'bool',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const deletedCourses = table('deleted_courses', {
  accountId: 'text',
  id: 'text',
  startedAt: 'timestamptz',
})

export const enrolments = table('enrolments', {
  accountId: 'text',
  memberId: 'text',
  courseId: 'text',
  active: 'bool',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const finishedLessons = table('finished_lessons', {
  accountId: 'text',
  memberId: 'text',
  courseId: 'text',
  lessonId: 'text',
  finishedAt: 'timestamptz',
})

export const lessons = table('lessons', {
  accountId: 'text',
  id: 'text',
  courseId: 'text',
  title: 'text',
  content: 'text',
  html: 'text',
  videoUrl: 'text?',
  position: 'int4',
})

export const members = table('members', {
  accountId: 'text',
  id: 'text',
  email: 'text',
  createdAt: 'timestamptz',
})
