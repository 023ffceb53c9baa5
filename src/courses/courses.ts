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
