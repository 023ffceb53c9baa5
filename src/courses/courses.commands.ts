import type { Command } from 'commander'
import {
  type Cli,
  type CommandSet,
  type Confirmation,
  type Context,
  changing,
  confirmed,
  examples,
  paged,
} from '../cli/command.ts'
import { readText } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page-request.ts'
import { quantity } from '../lib/quantity.ts'
import type { CourseView, LessonView, MemberView } from './courses.ts'

const courseColumns: Column<CourseView>[] = [
  ['ID', (course) => course.id],
  ['TITLE', (course) => course.title],
  ['PUBLISHED', (course) => (course.published ? 'yes' : 'no')],
  ['LESSONS', (course) => course.lessonCount],
  ['UPDATED', (course) => new Date(course.updatedAt)],
]

const lessonColumns: Column<LessonView>[] = [
  ['ID', (lesson) => lesson.id],
  ['POSITION', (lesson) => lesson.position],
  ['TITLE', (lesson) => lesson.title],
  ['VIDEO', (lesson) => lesson.videoUrl],
]

const memberColumns = (lessonCount: number): Column<MemberView>[] => [
  ['SUBSCRIBER', (member) => member.subscriberId],
  ['EMAIL', (member) => member.email],
  ['KEY', (member) => (member.active ? 'active' : 'revoked')],
  ['ENTITLED', (member) => (member.entitled ? 'yes' : 'no')],
  ['FINISHED', (member) => `${member.completedLessons} of ${lessonCount}`],
  ['COMPLETED', (member) => (member.completedAt === null ? null : new Date(member.completedAt))],
  ['ENROLLED', (member) => new Date(member.enrolledAt)],
]

/** Warns that emails have no link while the account has no slug. With --json stderr has only errors. */
const warnWithoutPortal = ({ out }: Context, portal: string | null): void => {
  if (portal !== null || out.format === 'json' || out.format === 'jsonl') return
  out.note('The account has not claimed a membership URL: emails to members have no link to the course.')
  out.next('svc accounts claim-slug <slug>')
}

/** Adds a subcommand whose first argument is a course. */
const onCourse = (noun: Command, name: string, summary: string): Command =>
  noun.command(name).description(summary).argument('<course>', 'id, or a title that only one course has')

const parseEmail = async (email: string): Promise<string> => {
  const [{ MemberEmail }, { parse }, { z }] = await Promise.all([
    import('./courses.ts'),
    import('../lib/parse.ts'),
    import('zod'),
  ])
  return parse(z.object({ email: MemberEmail }), { email }).email
}

const addCourses = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the courses, newest first')
    .addHelpText('after', examples('svc courses', 'svc courses list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listCourses } = await import('./courses.ts')
        await out.list('courses', await work(listCourses), courseColumns)
      }),
    )

  onCourse(noun, 'show', 'Show a course with its lessons, and how many members have finished them')
    .addHelpText('after', examples('svc courses show Sailing', 'svc courses show Sailing --json'))
    .action(
      cli.run(async ({ app, out, work }, ref: string) => {
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
      }),
    )

  noun
    .command('create')
    .description('Create a course')
    .addHelpText(
      'after',
      examples('svc courses create --title Sailing', 'svc courses create --title Sailing --publish --json'),
    )
    .option('--title <title>', 'its title')
    .option('--publish', 'open it to the members immediately')
    .action(
      cli.run(async (context, flags: { title?: string; publish?: boolean }) => {
        const { app, out, require, work } = context
        const { title } = await require(flags, 'title')
        const { createCourse, portalPage } = await import('./courses.ts')
        const { course, portal } = await work(async (w) => {
          const course = await createCourse(w, { title, published: flags.publish === true })
          return { course, portal: await portalPage(app, w, course.id) }
        })
        out.one(course)
        if (course.published) warnWithoutPortal(context, portal)
      }),
    )

  changing(
    onCourse(noun, 'update', 'Change the title of a course')
      .addHelpText(
        'after',
        examples(
          'svc courses update Sailing --title "Sailing for beginners"',
          'svc courses update Sailing --title "Sailing for beginners" --dry-run',
        ),
      )
      .option('--title <title>', 'its new title'),
  ).action(
    cli.run(async ({ out, require, work }, ref: string, flags: { title?: string }) => {
      const { title } = await require(flags, 'title')
      const { updateCourse } = await import('./courses.ts')
      out.one(await work((w) => updateCourse(w, ref, { title })))
    }),
  )

  const publishing = (name: string, summary: string, published: boolean) =>
    changing(
      onCourse(noun, name, summary).addHelpText(
        'after',
        examples(`svc courses ${name} Sailing`, `svc courses ${name} Sailing --dry-run`),
      ),
    ).action(
      cli.run(async (context, ref: string) => {
        const { app, out, work } = context
        const { portalPage, publishCourse } = await import('./courses.ts')
        const { course, portal } = await work(async (w) => {
          const course = await publishCourse(w, ref, published)
          return { course, portal: await portalPage(app, w, course.id) }
        })
        out.one(course)
        if (published) warnWithoutPortal(context, portal)
      }),
    )
  publishing('publish', 'Open a course to the members', true)
  publishing(
    'unpublish',
    'Close a course immediately, also for members who have it open; keys and progress stay',
    false,
  )
}

const addDelete = (noun: Command, cli: Cli): void => {
  confirmed(
    onCourse(
      noun,
      'delete',
      'Delete a course with its lessons, keys and progress; what only its keys opened closes immediately',
    ).addHelpText('after', examples('svc courses delete Sailing --dry-run', 'svc courses delete Sailing --yes')),
    'show what would be deleted',
  ).action(
    cli.run(async ({ app, actor, account, signal, out, work, confirm, progress }, ref: string, flags: Confirmation) => {
      const { countCourseRemoval, deleteCourse, findCourseNamed } = await import('./courses.ts')
      const { id, title, ...planned } = await work(async (w) => {
        const { id, title } = await findCourseNamed(w, ref)
        return { id, title, ...(await countCourseRemoval(w, id)) }
      })
      const holds = `${quantity(planned.lessons, 'lesson')} and ${quantity(planned.keys, 'active key')}`
      const what = `delete the course ${title} with ${holds}, and all progress in it; no email is sent`
      if (!(await confirm(what, flags, { id, title, ...planned }))) return
      const bar = progress('keys')
      const onBatch = (rows: number) => bar.update({ rows, fraction: Math.min(1, rows / Math.max(planned.keys, 1)) })
      const { id: accountId } = await account()
      const removed = await deleteCourse(app, accountId, id, { actor, signal, onBatch }).finally(bar.stop)
      if (signal.aborted)
        out.note('Stopped before the end. The course is deleted; the jobs delete the rest of its keys and progress.')
      out.one({ id, title, ...removed })
    }),
  )
}

const lessonContent = 'CommonMark; a blank line ends a paragraph; from a file, from standard input, or given here'

interface LessonFlags {
  title?: string
  content?: string
  videoUrl?: string
}

/** Adds a subcommand whose arguments are a course and one of its lessons. */
const onLesson = (noun: Command, name: string, summary: string): Command =>
  onCourse(noun, name, summary).argument('<lesson>', 'id, or a title that only one lesson of the course has')

const addLessonChanges = (noun: Command, cli: Cli): void => {
  changing(
    onLesson(noun, 'update', 'Change title, content or video of a lesson; members who finished it stay finished')
      .addHelpText(
        'after',
        examples(
          'svc courses lessons update Sailing Knots --title "Four knots"',
          'svc courses lessons update Sailing Knots --content @knots.md --video-url "" --dry-run',
        ),
      )
      .option('--title <title>', 'its new title')
      .option('--content <@file|-|text>', lessonContent)
      .option('--video-url <url>', 'video on YouTube or Vimeo, or an https file; "" removes it'),
  ).action(
    cli.run(async ({ out, work }, ref: string, lesson: string, { title, content, videoUrl }: LessonFlags) => {
      const [{ updateLesson }, { Problem }] = await Promise.all([import('./courses.ts'), import('../lib/problem.ts')])
      if (title === undefined && content === undefined && videoUrl === undefined)
        throw new Problem('usage', 'Nothing to change: give --title, --content or --video-url')
      const text = content && (await readText(content, '--content', out))
      out.one(await work((w) => updateLesson(w, ref, lesson, { title, content: text, videoUrl })))
    }),
  )

  changing(
    onLesson(noun, 'move', 'Move a lesson to another place in its course')
      .addHelpText(
        'after',
        examples(
          'svc courses lessons move Sailing Knots --before Anchoring',
          'svc courses lessons move Sailing Knots --last --dry-run',
        ),
      )
      .option('--before <lesson>', 'the lesson that it will precede: id or title')
      .option('--last', 'move it to the end'),
  ).action(
    cli.run(
      async ({ out, work }, ref: string, lesson: string, { before, last }: { before?: string; last?: boolean }) => {
        const [{ moveLesson }, { Problem }] = await Promise.all([import('./courses.ts'), import('../lib/problem.ts')])
        if ((before === undefined) !== (last === true))
          throw new Problem('usage', 'Give either --before <lesson> or --last')
        out.one(await work((w) => moveLesson(w, ref, lesson, before ?? null)))
      },
    ),
  )

  confirmed(
    onLesson(
      noun,
      'delete',
      'Delete a lesson and the progress in it; no member completes the course by this',
    ).addHelpText(
      'after',
      examples('svc courses lessons delete Sailing Knots --dry-run', 'svc courses lessons delete Sailing Knots --yes'),
    ),
    'show what would be deleted',
  ).action(
    cli.run(async ({ out, work, confirm }, ref: string, lessonRef: string, flags: Confirmation) => {
      const { countFinished, deleteLesson, findLesson } = await import('./courses.ts')
      const { id, courseId, title, finished } = await work(async (w) => {
        const { id, courseId, title } = await findLesson(w, ref, lessonRef)
        return { id, courseId, title, finished: await countFinished(w, courseId, id) }
      })
      const who = finished === 0 ? 'nobody has' : quantity(finished, 'member has', 'members have')
      const what = `delete the lesson ${title}, which ${who} finished`
      if (!(await confirm(what, flags, { id, courseId, title, finished }))) return
      out.one({ id, courseId, title, ...(await work((w) => deleteLesson(w, courseId, id))) })
    }),
  )
}

const addLessons = (noun: Command, cli: Cli): void => {
  onCourse(noun, 'list', 'List the lessons of a course in order')
    .addHelpText('after', examples('svc courses lessons list Sailing', 'svc courses lessons list Sailing --json'))
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { findCourseNamed, lessonsOf } = await import('./courses.ts')
        const lessons = await work(async (w) => lessonsOf(w, (await findCourseNamed(w, ref)).id))
        await out.list('lessons', lessons, lessonColumns)
      }),
    )

  onCourse(noun, 'add', 'Add a lesson at the end of a course')
    .addHelpText(
      'after',
      examples(
        'svc courses lessons add Sailing --title Knots --content "Start with the bowline."',
        'svc courses lessons add Sailing --title Knots --content @knots.md --video-url https://youtu.be/dQw4w9WgXcQ',
      ),
    )
    .option('--title <title>', 'its title')
    .option('--content <@file|-|text>', lessonContent)
    .option('--video-url <url>', 'video on YouTube or Vimeo, or an https file')
    .action(
      cli.run(async ({ out, require, work }, ref: string, flags: LessonFlags) => {
        const { title, content, videoUrl } = await require(flags, 'title', 'content')
        const text = await readText(content, '--content', out)
        const { addLesson } = await import('./courses.ts')
        out.one(await work((w) => addLesson(w, ref, { title, content: text, videoUrl })))
      }),
    )
}

const setKey = async (context: Context, ref: string, flags: { email?: string }, active: boolean): Promise<void> => {
  const { app, out, require, work } = context
  const given = await require(flags, 'email')
  const email = await parseEmail(given.email)
  const { enrolMember, findCourseNamed, portalPage } = await import('./courses.ts')
  const { result, portal } = await work(async (w) => {
    const { id } = await findCourseNamed(w, ref)
    return { result: await enrolMember(app, w, id, { email, active }), portal: await portalPage(app, w, id) }
  })
  if (out.format === 'ids') out.line(result.subscriberId)
  else out.one(result)
  if (active) warnWithoutPortal(context, portal)
}

const addMembers = (noun: Command, cli: Cli): void => {
  paged(
    onCourse(noun, 'members', 'List the members who have or had a course’s key, oldest first').addHelpText(
      'after',
      examples('svc courses members Sailing', 'svc courses members Sailing --json'),
    ),
  ).action(
    cli.run(async ({ app, pages, work }, ref: string, flags: PageFlags) => {
      const { findCourseNamed, listMembers, withCertificates } = await import('./courses.ts')
      const { id: courseId, lessonCount } = await work((w) => findCourseNamed(w, ref))
      const load = (page: PageRequest) =>
        work(async (w) => {
          const { rows, nextCursor } = await listMembers(w, courseId, page)
          return { rows: await withCertificates(app, w, courseId, rows), nextCursor }
        })
      await pages('members', flags, load, memberColumns(lessonCount), { id: ({ subscriberId }) => subscriberId })
    }),
  )

  onCourse(noun, 'enroll', 'Give an address a key to the membership; a new member gets an email')
    .addHelpText(
      'after',
      examples(
        'svc courses enroll Sailing --email ada@example.com',
        'svc courses enroll Sailing --email ada@example.com --json',
      ),
    )
    .option('--email <email>', 'the member')
    .action(cli.run((context, ref: string, flags: { email?: string }) => setKey(context, ref, flags, true)))

  changing(
    onCourse(noun, 'revoke', 'Revoke a member’s key immediately; the progress stays and no email is sent')
      .addHelpText(
        'after',
        examples(
          'svc courses revoke Sailing --email ada@example.com --dry-run',
          'svc courses revoke Sailing --email ada@example.com --yes',
        ),
      )
      .option('--email <email>', 'the member'),
  ).action(cli.run((context, ref: string, flags: { email?: string }) => setKey(context, ref, flags, false)))

  onCourse(noun, 'embed-token', 'Print a portal URL that signs a member in; it is valid for 5 minutes')
    .addHelpText(
      'after',
      examples(
        'svc courses embed-token Sailing --email ada@example.com',
        'svc courses embed-token Sailing --email ada@example.com --json',
      ),
    )
    .option('--email <email>', 'the member')
    .action(
      cli.run(async ({ app, out, require, work }, ref: string, flags: { email?: string }) => {
        const given = await require(flags, 'email')
        const email = await parseEmail(given.email)
        const { findCourseNamed, mintPortalUrl } = await import('./courses.ts')
        const portalUrl = await work(async (w) => mintPortalUrl(app, w, (await findCourseNamed(w, ref)).id, email))
        if (out.format === 'json' || out.format === 'jsonl') out.one({ portalUrl })
        else out.line(portalUrl)
      }),
    )
}

/** `svc courses` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('courses')
  addCourses(noun, cli)
  addMembers(noun, cli)
  addDelete(noun, cli)
  const lessons = noun.command('lessons').description('The lessons of a course')
  addLessons(lessons, cli)
  addLessonChanges(lessons, cli)
}
