export { withCertificates } from './courses.certificates.ts'
export { countCourseRemoval, deleteCourse } from './courses.delete.ts'
export { createCourse, publishCourse, updateCourse } from './courses.edit.ts'
export {
  type CourseView,
  findCourseNamed,
  holdCourse,
  type LessonView,
  lessonsOf,
  listCourses,
  listLessons,
} from './courses.find.ts'
export { addLesson, countFinished, deleteLesson, findLesson, moveLesson, updateLesson } from './courses.lessons.ts'
export { mintPortalUrl, portalPage } from './courses.links.ts'
export {
  EnrolmentBody,
  EnrolmentResult,
  enrolMember,
  listMembers,
  MemberEmail,
  type MemberView,
  progressOfCourse,
} from './courses.members.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** A course was deleted; called in the transaction that deletes it. */
    courseDeleted?(work: Work, id: string): Promise<void>
    /** A normalised address was enrolled in a course that it was not enrolled in; called in the transaction that writes it. */
    memberEnrolled?(work: Work, enrolled: { course: { id: string; title: string }; email: string }): Promise<void>
  }
}
