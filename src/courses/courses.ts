export { addLesson, createCourse, publishCourse } from './courses.edit.ts'
export {
  type CourseView,
  findCourse,
  findCourseNamed,
  type LessonView,
  lessonsOf,
  listCourses,
} from './courses.find.ts'
export { memberOfLink, memberOfSession, mintPortalUrl, openSession, portalPage } from './courses.links.ts'
export {
  EnrolmentBody,
  EnrolmentResult,
  enrolMember,
  listMembers,
  MemberEmail,
  type MemberView,
} from './courses.members.ts'
export { entitledEmail, finishLesson, type Progress, publishedCourses, readProgress } from './courses.progress.ts'
