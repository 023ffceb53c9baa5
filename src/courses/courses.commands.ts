import type { Command } from 'commander'
import { type Cli, type CommandSet, type Context, changing, examples, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
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
]

const memberColumns: Column<MemberView>[] = [
  ['SUBSCRIBER', (member) => member.subscriberId],
  ['EMAIL', (member) => member.email],
  ['KEY', (member) => (member.active ? 'active' : 'revoked')],
  ['ENTITLED', (member) => (member.entitled ? 'yes' : 'no')],
  ['FINISHED', (member) => member.completedLessons],
  ['COMPLETED', (member) => (member.completedAt === null ? null : new Date(member.completedAt))],
  ['ENROLLED', (member) => new Date(member.enrolledAt)],
]

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

  onCourse(noun, 'show', 'Show a course with its lessons')
    .addHelpText('after', examples('svc courses show Sailing', 'svc courses show Sailing --json'))
    .action(
      cli.run(async ({ app, out, work }, ref: string) => {
        const { findCourseNamed, lessonsOf, portalPage } = await import('./courses.ts')
        const { course, lessons, portal } = await work(async (w) => {
          const course = await findCourseNamed(w, ref)
          return { course, lessons: await lessonsOf(w, course.id), portal: await portalPage(app, w, course.id) }
        })
        const none = 'none: the account has no slug (svc accounts claim-slug <slug>)'
        out.one({ ...course, lessons }, { ...course, portal: portal ?? none, lessons })
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
      cli.run(async ({ out, require, work }, flags: { title?: string; publish?: boolean }) => {
        const { title } = await require({ title: flags.title })
        const { createCourse } = await import('./courses.ts')
        out.one(await work((w) => createCourse(w, { title, published: flags.publish === true })))
      }),
    )

  const publishing = (name: string, summary: string, published: boolean) =>
    changing(
      onCourse(noun, name, summary).addHelpText(
        'after',
        examples(`svc courses ${name} Sailing`, `svc courses ${name} Sailing --dry-run`),
      ),
    ).action(
      cli.run(async ({ out, work }, ref: string) => {
        const { publishCourse } = await import('./courses.ts')
        out.one(await work((w) => publishCourse(w, ref, published)))
      }),
    )
  publishing('publish', 'Open a course to the members', true)
  publishing(
    'unpublish',
    'Close a course immediately, also for members who have it open; keys and progress stay',
    false,
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
        'svc courses lessons add Sailing --title Knots --content "Start with the bowline." --json',
      ),
    )
    .option('--title <title>', 'its title')
    .option('--content <text>', 'plain text; a blank line ends a paragraph')
    .action(
      cli.run(async ({ out, require, work }, ref: string, flags: { title?: string; content?: string }) => {
        const lesson = await require({ title: flags.title, content: flags.content })
        const { addLesson } = await import('./courses.ts')
        out.one(await work((w) => addLesson(w, ref, lesson)))
      }),
    )
}

const setKey = async (
  { app, out, require, work }: Context,
  ref: string,
  flags: { email?: string },
  active: boolean,
): Promise<void> => {
  const given = await require({ email: flags.email })
  const email = await parseEmail(given.email)
  const { enrolMember, findCourseNamed } = await import('./courses.ts')
  const result = await work(async (w) => enrolMember(app, w, (await findCourseNamed(w, ref)).id, { email, active }))
  if (out.format === 'ids') out.line(result.subscriberId)
  else out.one(result)
}

const addMembers = (noun: Command, cli: Cli): void => {
  paged(
    onCourse(noun, 'members', 'List the members who have or had a course’s key, oldest first').addHelpText(
      'after',
      examples('svc courses members Sailing', 'svc courses members Sailing --json'),
    ),
  ).action(
    cli.run(async ({ pages, work }, ref: string, flags: PageFlags) => {
      const { findCourseNamed, listMembers } = await import('./courses.ts')
      const load = (page: PageRequest) => work(async (w) => listMembers(w, (await findCourseNamed(w, ref)).id, page))
      await pages('members', flags, load, memberColumns, { id: ({ subscriberId }) => subscriberId })
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
        const given = await require({ email: flags.email })
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
  addLessons(noun.command('lessons').description('The lessons of a course'), cli)
}
