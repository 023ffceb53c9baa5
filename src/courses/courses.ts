export { addLesson, createCourse, publishCourse } from './courses.edit.ts'
export {
  type CourseView,
  findCourse,
  findCourseNamed,
  type LessonView,
  lessonsOf,
  listCourses,
} from './courses.find.ts'
export { mintPortalUrl, portalPage } from './courses.links.ts'
export {
  EnrolmentBody,
  EnrolmentResult,
  enrolMember,
  listMembers,
  MemberEmail,
  type MemberView,
} from './courses.members.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** A normalised address was enrolled in a course that it was not enrolled in; called in the transaction that writes it. */
    memberEnrolled?(work: Work, enrolled: { course: { id: string; title: string }; email: string }): Promise<void>
  }
}
