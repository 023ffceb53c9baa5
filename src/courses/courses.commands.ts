import type { Context } from '../cli/command.ts'
import { type CommandList, command, group } from '../cli/define.ts'
import { argument, changing, confirmed, needed, paged, present, text } from '../cli/flags.ts'
import { parse, readText } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import type { CourseView, LessonView, MemberView } from './courses.ts'

const courseColumns: Column<CourseView>[] = [
  ...properties<CourseView>('id', 'title'),
  ['PUBLISHED', (course) => (course.published ? 'yes' : 'no')],
  ['LESSONS', (course) => course.lessonCount],
  ['UPDATED', (course) => new Date(course.updatedAt)],
]

const lessonColumns: Column<LessonView>[] = [
  ...properties<LessonView>('id', 'position', 'title'),
  ['VIDEO', (lesson) => lesson.videoUrl],
]

const memberColumns = (lessonCount: number): Column<MemberView>[] => [
  ...properties<MemberView>('subscriberId', 'email'),
  ['KEY', (member) => (member.active ? 'active' : 'revoked')],
  ['ENTITLED', (member) => (member.entitled ? 'yes' : 'no')],
  ['FINISHED', (member) => `${member.completedLessons} of ${lessonCount}`],
  ...properties<MemberView>('completedAt', 'enrolledAt'),
]

/** Warns that emails have no link while the account has no slug. With --json stderr has only errors. */
const warnWithoutPortal = ({ out }: Context, portal: string | null): void => {
  if (portal !== null || out.isJson) return
  out.note('The account has not claimed a membership URL: emails to members have no link to the course.')
  out.next('svc accounts claim-slug <slug>')
}

const parseEmail = async (email: string): Promise<string> => {
  const { MemberEmail } = await import('./courses.ts')
  return parse(MemberEmail, email, 'email')
}

const course = argument('<course>', 'id, or a title that only one course has')
const lesson = argument('<lesson>', 'id, or a title that only one lesson of the course has')

const publishing = (name: string, summary: string, published: boolean) =>
  command({
    path: `courses ${name}`,
    summary,
    examples: [`svc courses ${name} Sailing`, `svc courses ${name} Sailing --dry-run`],
    arguments: [course],
    flags: changing(),
    run: async (context, ref) => {
      const { app, out, work } = context
      const { portalPage, publishCourse } = await import('./courses.ts')
      const { course, portal } = await work(async (w) => {
        const course = await publishCourse(w, ref, published)
        return { course, portal: await portalPage(app, w, course.id) }
      })
      out.one(course)
      if (published) warnWithoutPortal(context, portal)
    },
  })

const lessonContent = 'CommonMark; a blank line ends a paragraph; from a file, from standard input, or given here'

const setKey = async (context: Context, ref: string, given: string, active: boolean): Promise<void> => {
  const { app, out, work } = context
  const email = await parseEmail(given)
  const { enrolMember, findCourseNamed, portalPage } = await import('./courses.ts')
  const { result, portal } = await work(async (w) => {
    const { id } = await findCourseNamed(w, ref)
    return { result: await enrolMember(app, w, id, { email, active }), portal: await portalPage(app, w, id) }
  })
  if (out.format === 'ids') out.line(result.subscriberId)
  else out.one(result)
  if (active) warnWithoutPortal(context, portal)
}

/** The commands `svc courses`. */
export const commands: CommandList = [
  command({
    path: 'courses list',
    isDefault: true,
    summary: 'List the courses, newest first',
    examples: ['svc courses', 'svc courses list --json'],
    run: async ({ out, work }) => {
      const { listCourses } = await import('./courses.ts')
      await out.list('courses', await work(listCourses), courseColumns)
    },
  }),

  command({
    path: 'courses show',
    summary: 'Show a course with its lessons, and how many members have finished them',
    examples: ['svc courses show Sailing', 'svc courses show Sailing --json'],
    arguments: [course],
    run: async ({ app, out, work }, ref) => {
      const { findCourseNamed, portalPage, progressOfCourse } = await import('./courses.ts')
      const { course, portal, progress } = await work(async (w) => {
        const course = await findCourseNamed(w, ref)
        return { course, portal: await portalPage(app, w, course.id), progress: await progressOfCourse(w, course.id) }
      })
      const { lessons, ...counts } = progress
      const none = 'none: the account has no slug (svc accounts claim-slug <slug>)'
      const brief = lessons.map(({ position, title, content, finished, videoUrl }) => ({
        position,
        title,
        characters: content.length,
        finished,
        videoUrl,
      }))
      const shown = { ...course, portal: portal ?? none, ...counts, lessons: out.fields ? lessons : brief }
      out.one({ ...course, ...progress }, shown)
    },
  }),

  command({
    path: 'courses create',
    summary: 'Create a course',
    examples: ['svc courses create --title Sailing', 'svc courses create --title Sailing --publish --json'],
    flags: { title: needed('<title>', 'its title'), publish: present('open it to the members immediately') },
    run: async (context, { title, publish = false }) => {
      const { app, out, work } = context
      const { createCourse, portalPage } = await import('./courses.ts')
      const { course, portal } = await work(async (w) => {
        const course = await createCourse(w, { title, published: publish })
        return { course, portal: await portalPage(app, w, course.id) }
      })
      out.one(course)
      if (course.published) warnWithoutPortal(context, portal)
    },
  }),

  command({
    path: 'courses update',
    summary: 'Change the title of a course',
    examples: [
      'svc courses update Sailing --title "Sailing for beginners"',
      'svc courses update Sailing --title "Sailing for beginners" --dry-run',
    ],
    arguments: [course],
    flags: { title: needed('<title>', 'its new title'), ...changing() },
    run: async ({ out, work }, ref, { title }) => {
      const { updateCourse } = await import('./courses.ts')
      out.one(await work((w) => updateCourse(w, ref, { title })))
    },
  }),

  publishing('publish', 'Open a course to the members', true),

  publishing(
    'unpublish',
    'Close a course immediately, also for members who have it open; keys and progress stay',
    false,
  ),

  command({
    path: 'courses members',
    summary: 'List the members who have or had a course’s key, oldest first',
    examples: ['svc courses members Sailing', 'svc courses members Sailing --json'],
    arguments: [course],
    flags: paged,
    run: async ({ app, pages, work }, ref, flags) => {
      const { findCourseNamed, listMembers, withCertificates } = await import('./courses.ts')
      const { id: courseId, lessonCount } = await work((w) => findCourseNamed(w, ref))
      const load = (page: PageRequest) =>
        work(async (w) => {
          const { rows, nextCursor } = await listMembers(w, courseId, page)
          return { rows: await withCertificates(app, w, courseId, rows), nextCursor }
        })
      await pages('members', flags, load, memberColumns(lessonCount), { id: ({ subscriberId }) => subscriberId })
    },
  }),

  command({
    path: 'courses enroll',
    summary: 'Enroll an address: it gets a key to the membership, and an email if it is a new member',
    examples: [
      'svc courses enroll Sailing --email ada@example.com',
      'svc courses enroll Sailing --email ada@example.com --json',
    ],
    arguments: [course],
    flags: { email: needed('<email>', 'the member'), ...changing() },
    run: (context, ref, { email }) => setKey(context, ref, email, true),
  }),

  command({
    path: 'courses revoke',
    summary: 'Revoke a member’s key immediately; the progress stays and no email is sent',
    examples: [
      'svc courses revoke Sailing --email ada@example.com --dry-run',
      'svc courses revoke Sailing --email ada@example.com --yes',
    ],
    arguments: [course],
    flags: { email: needed('<email>', 'the member'), ...changing() },
    run: (context, ref, { email }) => setKey(context, ref, email, false),
  }),

  command({
    path: 'courses embed-token',
    summary: 'Print a portal URL that signs a member in; it is valid for 5 minutes',
    examples: [
      'svc courses embed-token Sailing --email ada@example.com',
      'svc courses embed-token Sailing --email ada@example.com --json',
    ],
    arguments: [course],
    flags: { email: needed('<email>', 'the member') },
    run: async ({ app, out, work }, ref, flags) => {
      const email = await parseEmail(flags.email)
      const { findCourseNamed, mintPortalUrl } = await import('./courses.ts')
      const portalUrl = await work(async (w) => mintPortalUrl(app, w, (await findCourseNamed(w, ref)).id, email))
      if (out.isJson) out.one({ portalUrl })
      else out.line(portalUrl)
    },
  }),

  command({
    path: 'courses delete',
    summary: 'Delete a course with its lessons, keys and progress; members without another key lose access immediately',
    examples: ['svc courses delete Sailing --dry-run', 'svc courses delete Sailing --yes'],
    arguments: [course],
    flags: confirmed('show what would be deleted'),
    run: async ({ app, actor, account, signal, out, work, confirm, withProgress }, ref, flags) => {
      const { countCourseRemoval, deleteCourse, findCourseNamed } = await import('./courses.ts')
      const { id, title, ...planned } = await work(async (w) => {
        const { id, title } = await findCourseNamed(w, ref)
        return { id, title, ...(await countCourseRemoval(w, id)) }
      })
      const holds = `${quantity(planned.lessons, 'lesson')} and ${quantity(planned.keys, 'active key')}`
      const what = `delete the course ${title} with ${holds}, and all progress in it; no email is sent`
      if (!(await confirm(what, flags, { id, title, ...planned }))) return
      const { id: accountId } = await account()
      const removed = await withProgress('keys', planned.keys, (onBatch) =>
        deleteCourse(app, accountId, id, { actor, signal, onBatch }),
      )
      if (signal.aborted)
        out.note('Stopped before the end. The course is deleted; the jobs delete the rest of its keys and progress.')
      out.one({ id, title, ...removed })
    },
  }),

  group({ path: 'courses lessons', summary: 'The lessons of a course' }),

  command({
    path: 'courses lessons list',
    summary: 'List the lessons of a course in order',
    examples: ['svc courses lessons list Sailing', 'svc courses lessons list Sailing --json'],
    arguments: [course],
    run: async ({ out, work }, ref) => {
      const { findCourseNamed, lessonsOf } = await import('./courses.ts')
      const lessons = await work(async (w) => lessonsOf(w, (await findCourseNamed(w, ref)).id))
      await out.list('lessons', lessons, lessonColumns)
    },
  }),

  command({
    path: 'courses lessons add',
    summary: 'Add a lesson at the end of a course',
    examples: [
      'svc courses lessons add Sailing --title Knots --content "Start with the bowline."',
      'svc courses lessons add Sailing --title Knots --content @knots.md --video-url https://youtu.be/dQw4w9WgXcQ',
    ],
    arguments: [course],
    flags: {
      title: needed('<title>', 'its title'),
      content: needed('<@file|-|text>', lessonContent),
      videoUrl: text('<url>', 'video on YouTube or Vimeo, or an https file'),
    },
    run: async ({ out, work }, ref, { title, content, videoUrl }) => {
      const text = await readText(content, '--content', out)
      const { addLesson } = await import('./courses.ts')
      out.one(await work((w) => addLesson(w, ref, { title, content: text, videoUrl })))
    },
  }),

  command({
    path: 'courses lessons update',
    summary: 'Change title, content or video of a lesson; members who finished it stay finished',
    examples: [
      'svc courses lessons update Sailing Knots --title "Four knots"',
      'svc courses lessons update Sailing Knots --content @knots.md --video-url "" --dry-run',
    ],
    arguments: [course, lesson],
    flags: {
      title: text('<title>', 'its new title'),
      content: text('<@file|-|text>', lessonContent),
      videoUrl: text('<url>', 'video on YouTube or Vimeo, or an https file; "" removes it'),
      ...changing(),
    },
    run: async ({ out, work }, ref, lesson, { title, content, videoUrl }) => {
      const { updateLesson } = await import('./courses.ts')
      if (title === undefined && content === undefined && videoUrl === undefined)
        throw new Problem('usage', 'Nothing to change: give --title, --content or --video-url')
      const text = content && (await readText(content, '--content', out))
      out.one(await work((w) => updateLesson(w, ref, lesson, { title, content: text, videoUrl })))
    },
  }),

  command({
    path: 'courses lessons move',
    summary: 'Move a lesson to another place in its course',
    examples: [
      'svc courses lessons move Sailing Knots --before Anchoring',
      'svc courses lessons move Sailing Knots --last --dry-run',
    ],
    arguments: [course, lesson],
    flags: {
      before: text('<lesson>', 'the lesson that it will precede: id or title'),
      last: present('move it to the end'),
      ...changing(),
    },
    run: async ({ out, work }, ref, lesson, { before, last }) => {
      const { moveLesson } = await import('./courses.ts')
      if ((before === undefined) !== (last === true))
        throw new Problem('usage', 'Give either --before <lesson> or --last')
      out.one(await work((w) => moveLesson(w, ref, lesson, before ?? null)))
    },
  }),

  command({
    path: 'courses lessons delete',
    summary: 'Delete a lesson and the progress in it; this completes the course for no member',
    examples: ['svc courses lessons delete Sailing Knots --dry-run', 'svc courses lessons delete Sailing Knots --yes'],
    arguments: [course, lesson],
    flags: confirmed('show what would be deleted'),
    run: async ({ out, work, confirm }, ref, lessonRef, flags) => {
      const { countFinished, deleteLesson, findLesson } = await import('./courses.ts')
      const { id, courseId, title, finished } = await work(async (w) => {
        const { id, courseId, title } = await findLesson(w, ref, lessonRef)
        return { id, courseId, title, finished: await countFinished(w, courseId, id) }
      })
      const who = finished === 0 ? 'nobody has' : quantity(finished, 'member has', 'members have')
      const what = `delete the lesson ${title}, which ${who} finished`
      if (!(await confirm(what, flags, { id, courseId, title, finished }))) return
      out.one({ id, courseId, title, ...(await work((w) => deleteLesson(w, courseId, id))) })
    },
  }),
]
