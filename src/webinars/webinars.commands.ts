import type { Command } from 'commander'
import type { Cli, CommandSet } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { RegistrationView, WebinarView } from './webinars.ts'

const dateOf = (time: number | null) => (time === null ? null : new Date(time))

const columns: Column<WebinarView>[] = [
  ['ID', (webinar) => webinar.id],
  ['TITLE', (webinar) => webinar.title],
  ['STATUS', (webinar) => webinar.status],
  ['SCHEDULED', (webinar) => dateOf(webinar.scheduledAt)],
  ['REGISTERED', (webinar) => webinar.registeredCount],
  ['WAITLISTED', (webinar) => webinar.waitlistedCount],
  ['CAPACITY', (webinar) => webinar.capacity],
  ['ACCESS', (webinar) => webinar.accessMode],
]

const registrationColumns: Column<RegistrationView>[] = [
  ['ID', (registration) => registration.id],
  ['EMAIL', (registration) => registration.email],
  ['NAME', (registration) => registration.name],
  ['STATUS', (registration) => registration.status],
  ['REGISTERED', (registration) => new Date(registration.createdAt)],
]

const addReads = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the webinars, newest first')
    .action(
      cli.run(async ({ out, work }) => {
        const { listWebinars } = await import('./webinars.ts')
        await out.list('webinars', await work((w) => listWebinars(w)), columns)
      }),
    )

  noun
    .command('show')
    .description('Show a webinar')
    .argument('<webinar>', 'id or title')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { findWebinar } = await import('./webinars.ts')
        out.one(await work((w) => findWebinar(w, ref)))
      }),
    )

  noun
    .command('registrations')
    .description('List who has registered, in their order')
    .argument('<webinar>', 'id or title')
    .option('--status <status>', 'confirmed, waitlisted or cancelled')
    .action(
      cli.run(async ({ app, out, work }, ref: string, flags: { status?: string }) => {
        const [{ findWebinar, listRegistrations }, { parse }, { z }] = await Promise.all([
          import('./webinars.ts'),
          import('../lib/parse.ts'),
          import('zod'),
        ])
        const shape = z.object({ status: z.enum(['confirmed', 'waitlisted', 'cancelled']).optional() })
        const { status } = parse(shape, { status: flags.status })
        const rows = await work(async (w) => {
          const { id } = await findWebinar(w, ref)
          return listRegistrations(app, w, id, { status })
        })
        await out.list('registrations', rows, registrationColumns)
      }),
    )
}

interface CreateFlags {
  title?: string
  at?: string
  capacity?: string
  course?: string
  accessMode?: string
  stream?: string
}

const addCreate = (noun: Command, cli: Cli): void => {
  noun
    .command('create')
    .description('Schedule a webinar')
    .option('--title <title>', 'what it is about')
    .option('--at <time>', 'when it begins: a time such as 2026-12-01T17:00:00Z, or from now on: 30m, 2h, 2d')
    .option('--capacity <n>', 'seats; who comes later is waitlisted. Left out: without limit')
    .option('--course <id|title>', 'the course that it belongs to')
    .option('--access-mode <mode>', 'registration or subscribers; left out: registration')
    .option('--stream <url>', 'where the join page sends people once it is live')
    .action(
      cli.run(async ({ app, out, require, work }, flags: CreateFlags) => {
        const { title } = await require({ title: flags.title })
        const [{ createWebinar, NewWebinar }, { findCourseNamed }, { parse }, { parseTime }, { Problem }] =
          await Promise.all([
            import('./webinars.ts'),
            import('../courses/courses.ts'),
            import('../lib/parse.ts'),
            import('../lib/since.ts'),
            import('../lib/problem.ts'),
          ])
        const { at, capacity, course, accessMode, stream } = flags
        if (capacity !== undefined && !/^\d+$/.test(capacity))
          throw new Problem('usage', '--capacity must be a whole number from 0 on')
        const webinar = await work(async (w) =>
          createWebinar(
            w,
            parse(NewWebinar, {
              title,
              accessMode,
              scheduledAt: at && parseTime(at, app.now().getTime()),
              capacity: capacity && Number(capacity),
              courseId: course && (await findCourseNamed(w, course)).id,
              streamUrl: stream,
            }),
          ),
        )
        out.one(webinar)
      }),
    )
}

const addRun = (noun: Command, cli: Cli): void => {
  noun
    .command('start')
    .description('Go live: the join page leads to the stream, and broadcast minutes count from here on')
    .argument('<webinar>', 'id or title')
    .option('--stream <url>', 'where the stream is, in place of what was given before')
    .action(
      cli.run(async ({ out, work }, ref: string, flags: { stream?: string }) => {
        const [{ findWebinar, startWebinar, StreamUrl }, { parse }] = await Promise.all([
          import('./webinars.ts'),
          import('../lib/parse.ts'),
        ])
        const streamUrl = flags.stream === undefined ? undefined : parse(StreamUrl, flags.stream, 'stream')
        out.one(await work(async (w) => startWebinar(w, (await findWebinar(w, ref)).id, { streamUrl })))
      }),
    )

  noun
    .command('end')
    .description('End a live webinar, and count its broadcast minutes')
    .argument('<webinar>', 'id or title')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { endWebinar, findWebinar } = await import('./webinars.ts')
        out.one(await work(async (w) => endWebinar(w, (await findWebinar(w, ref)).id)))
      }),
    )

  noun
    .command('cancel')
    .description('Cancel a webinar that has not begun; all who have registered are told so')
    .argument('<webinar>', 'id or title')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say who would be told')
    .action(
      cli.run(async ({ app, out, work, confirm }, ref: string, flags: { yes?: boolean; dryRun?: boolean }) => {
        const { cancelWebinar, findWebinar } = await import('./webinars.ts')
        const { id, title, registeredCount, waitlistedCount } = await work((w) => findWebinar(w, ref))
        const mails = registeredCount + waitlistedCount
        const what = `cancel ${title} and mail ${mails} people`
        // A script that names a webinar means it; a person is asked.
        if (!(await confirm(what, { ...flags, yes: flags.yes || !out.isTerminal }, { id, title, mails }))) return
        out.one(await work((w) => cancelWebinar(app, w, id)))
      }),
    )
}

const addPromote = (noun: Command, cli: Cli): void => {
  noun
    .command('promote')
    .description('Give a seat to the first on the waitlist, or to the one named, even beyond the capacity')
    .argument('<webinar>', 'id or title')
    .argument('[registration]', 'its id')
    .action(
      cli.run(async ({ app, out, work }, ref: string, registrationId: string | undefined) => {
        const { findWebinar, listRegistrations, promoteRegistration } = await import('./webinars.ts')
        const [promoted] = await work(async (w) => {
          const webinar = await findWebinar(w, ref)
          const id = await promoteRegistration(app, w, webinar.id, registrationId ?? null)
          return listRegistrations(app, w, webinar.id, { id })
        })
        out.one(promoted!)
      }),
    )
}

/** `svc webinars` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('webinars')
  addReads(noun, cli)
  addCreate(noun, cli)
  addRun(noun, cli)
  addPromote(noun, cli)
}
