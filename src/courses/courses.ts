export { addLesson, createCourse, publishCourse } from './courses.edit.ts'
export {
  type CourseView,
  findCourse,
  findCourseNamed,
  type LessonView,
  lessonsOf,
  listCourses,
} from './courses.find.ts'
