import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, type FlagValues, needed, paged, present, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, printWithCounts, properties } from '../cli/output.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { parseDuration, parseTime } from '../lib/since.ts'
import type { AttendeeView, RegistrationView, WebinarView } from './webinars.ts'

/** `12 of 100, 3 waiting` */
const seatsText = ({ registeredCount, capacity, waitlistedCount }: WebinarView): string =>
  [
    capacity === null ? number(registeredCount) : `${number(registeredCount)} of ${number(capacity)}`,
    ...(waitlistedCount > 0 ? [`${number(waitlistedCount)} waiting`] : []),
  ].join(', ')

const columns: Column<WebinarView>[] = [
  ...properties<WebinarView>('id', 'title', 'status', 'scheduledAt'),
  ['REGISTERED', (webinar) => webinar.registeredCount, 'pipe'],
  ['WAITLISTED', (webinar) => webinar.waitlistedCount, 'pipe'],
  ['CAPACITY', (webinar) => webinar.capacity, 'pipe'],
  ['SEATS', seatsText, 'terminal'],
  ['ACCESS', (webinar) => webinar.accessMode],
]

const registrationColumns: Column<RegistrationView>[] = [
  ...properties<RegistrationView>('id', 'email', 'name', 'status'),
  ['REGISTERED', (registration) => new Date(registration.createdAt)],
]

const attendeeColumns = properties<AttendeeView>('email', 'name', 'firstSeenAt', 'lastSeenAt', 'minutes')

const statuses = ['confirmed', 'waitlisted', 'cancelled'] as const

const isCount = (text: string): boolean => /^\d+$/.test(text)

const coverFlag = (more = '') =>
  text('<file>', `PNG, JPEG or WebP image of at most 500 KB on its pages, instead of a drawn one${more}`)

/** Returns the bytes of a cover; null removes it, undefined leaves it. Throws Problem `usage` if the file can't be read. */
const readCover = async (file: string | undefined): Promise<Buffer | null | undefined> => {
  if (file === undefined) return undefined
  if (file === '') return null
  const { readBytes } = await import('../cli/input.ts')
  const { coverMaxBytes } = await import('./webinars.ts')
  return readBytes(file, '--cover', coverMaxBytes)
}

/** The flags that describe a webinar. */
const planFlags = {
  duration: text('<duration>', 'how long it is planned for, such as 45m or 2h (a new one: 60m)'),
  timezone: text(
    '<name>',
    'time zone of its times in emails, and of --at without an offset (default: that of the account)',
  ),
  description: text('<text>', 'what it is about: on the page to register and in calendars'),
}

/** Returns the properties that these flags set. Throws Problem `usage` or `invalid`. */
const planOf = async ({ duration, timezone, description }: FlagValues<typeof planFlags>) => {
  const minutes = duration === undefined ? 0 : parseDuration(duration) / 60_000
  if (!Number.isInteger(minutes)) throw new Problem('usage', '--duration must be whole minutes, such as 45m or 2h')
  return {
    ...(duration !== undefined && { durationMinutes: minutes }),
    ...(timezone !== undefined && { timezone }),
    ...(description !== undefined && { description }),
  }
}

const updateFlags = {
  title: text('<title>', 'its title'),
  at: text('<time>', 'its new time: a time such as 2026-12-01T17:00:00Z, or a duration from now such as 2d'),
  capacity: text(
    '<n|none>',
    'number of seats; new ones go to the waitlist in its order, and a lower number takes no seat away',
  ),
  stream: text('<url>', 'URL that the join page opens while the webinar is live'),
  replayUrl: text('<url>', 'URL of the recording, which the join page shows after the end; can be set then, too'),
  cover: coverFlag('; an empty value removes it'),
  ...planFlags,
  ...confirmed('show what would change, and how many people would get an email'),
}

type UpdateFlags = FlagValues<typeof updateFlags>

/** Returns the change that the flags ask for. Throws Problem `usage` or `invalid`. */
const parseChange = async (flags: UpdateFlags, nowMs: number, timezone: string | null) => {
  const { title, at, capacity, stream, replayUrl, cover } = flags
  const plan = await planOf(flags)
  const { WebinarChange } = await import('./webinars.ts')
  if ([title, at, capacity, stream, replayUrl, cover, ...Object.values(plan)].every((flag) => flag === undefined))
    throw new Problem(
      'usage',
      'Nothing to change: give --title, --at, --duration, --timezone, --description, --capacity, --stream, --replay-url or --cover',
    )
  const { timezone: zone = timezone } = await parse(WebinarChange.pick({ timezone: true }), {
    timezone: flags.timezone,
  })
  if (capacity !== undefined && capacity !== 'none' && !isCount(capacity))
    throw new Problem('usage', '--capacity must be a whole number, 0 or more, or none')
  return parse(WebinarChange, {
    ...(title !== undefined && { title }),
    ...plan,
    ...(at !== undefined && { scheduledAt: parseTime(at, nowMs, zone) }),
    ...(capacity !== undefined && { capacity: capacity === 'none' ? null : Number(capacity) }),
    ...(stream !== undefined && { streamUrl: stream }),
    ...(replayUrl !== undefined && { replayUrl }),
  })
}

/** The commands `svc webinars`. */
export const commands: CommandList = [
  command({
    path: 'webinars list',
    isDefault: true,
    summary: 'List the webinars, newest first',
    examples: ['svc webinars', 'svc webinars list --json'],
    run: async ({ out, work }) => {
      const { listWebinars } = await import('./webinars.ts')
      await out.list('webinars', await work((w) => listWebinars(w)), columns)
    },
  }),

  command({
    path: 'webinars show',
    summary: 'Show a webinar',
    examples: ['svc webinars show Launch', 'svc webinars show Launch --stats'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: { stats: present('show its registrations by day instead of its URLs') },
    run: async ({ app, out, work }, ref, { stats }) => {
      const { findCover, findReplay, findStream, findWebinar, readDetails, registerUrl, webinarStats } = await import(
        './webinars.ts'
      )
      if (stats) {
        const webinar = await work((w) => findWebinar(w, ref))
        const counts = await work((w) => webinarStats(w, webinar.id))
        const names = ['registrations', 'confirmed', 'waitlisted', 'cancelled'] as const
        const shown = await out.named(webinar)
        if ('attended' in counts) return printWithCounts(out, shown, counts, [...names, 'attended'])
        return printWithCounts(out, shown, counts, names)
      }
      const { webinar, stream, replay, cover, details } = await work(async (w) => {
        const webinar = await findWebinar(w, ref)
        return {
          webinar,
          details: await readDetails(w, webinar.id),
          stream: await findStream(w, webinar.id),
          replay: await findReplay(w, webinar.id),
          cover: await findCover(w, webinar.id),
        }
      })
      // Each registration has a join page of its own: its link is in the emails.
      const shown = { ...webinar, ...details }
      const register = registerUrl(app, webinar.id)
      const pages = {
        ...(webinar.accessMode === 'registration' && { register }),
        stream,
        replay,
        cover: cover && app.config.publicUrl + cover,
      }
      out.one(shown, { ...(await out.named(shown)), ...pages })
    },
  }),

  command({
    path: 'webinars registrations',
    summary: 'List the registrations of a webinar, oldest first',
    examples: ['svc webinars registrations Launch', 'svc webinars registrations Launch --status waitlisted --json'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: {
      status: text('<status>', 'confirmed, waitlisted or cancelled', { of: statuses }),
    },
    run: async ({ app, out, work }, ref, flags) => {
      const { findWebinar, listRegistrations } = await import('./webinars.ts')
      const { z } = await import('zod')
      const status = await parse(z.enum(statuses).optional(), flags.status, 'status')
      const rows = await work(async (w) => {
        const { id } = await findWebinar(w, ref)
        return listRegistrations(app, w, id, { status })
      })
      await out.list('registrations', rows, registrationColumns)
    },
  }),

  command({
    path: 'webinars attendees',
    summary: 'List the people who attended a webinar, in the order of their registrations',
    examples: ['svc webinars attendees Launch', 'svc webinars attendees Launch --format csv --safe > attendees.csv'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: {
      format: text('<csv|jsonl>', 'write all of them to stdout in this format', { of: ['csv', 'jsonl'] }),
      safe: present("put ' before CSV cells that a spreadsheet would run as formulas; the default on a terminal"),
      raw: present('write cells as they are; the default in a pipe or a file'),
      ...paged,
    },
    run: async ({ out, pages, signal, work }, ref, { format, safe, raw, ...flags }) => {
      if (format !== undefined && format !== 'csv' && format !== 'jsonl')
        throw new Problem('usage', '--format must be csv or jsonl')
      if (safe && format !== 'csv') throw new Problem('usage', '--safe requires --format csv')
      if (safe && raw) throw new Problem('usage', "--safe can't be combined with --raw")
      if (format !== undefined && (flags.limit ?? flags.cursor ?? out.fields) != null)
        throw new Problem('usage', "--format can't be combined with --limit, --cursor or --fields")
      const { findWebinar, listAttendees, writeAttendees } = await import('./webinars.ts')
      const { id } = await work((w) => findWebinar(w, ref))
      const load = (page: PageRequest) => work((w) => listAttendees(w, id, page))
      if (format !== undefined)
        return writeAttendees(load, format, out.sink(), { signal, isSafe: safe ?? (out.isTerminal && !raw) })
      await pages('attendees', flags, load, attendeeColumns, { id: ({ email }) => email })
    },
  }),

  command({
    path: 'webinars create',
    summary: 'Schedule a webinar',
    examples: [
      'svc webinars create --title Launch --at 2026-12-01T17:00:00Z --capacity 100',
      'svc webinars create --title Office --access-mode subscribers --stream https://stream.example/live',
    ],
    flags: {
      title: needed('<title>', 'its title'),
      at: text(
        '<time>',
        'when it begins: a time such as 2026-12-01T17:00:00Z, or a duration from now such as 30m, 2h, 2d',
      ),
      capacity: text('<n>', 'number of seats; later registrations are waitlisted (default: no limit)'),
      course: text('<id|title>', 'the course that it belongs to'),
      accessMode: text('<mode>', 'registration or subscribers (default: registration)', {
        of: ['registration', 'subscribers'],
      }),
      stream: text('<url>', 'URL that the join page opens while the webinar is live'),
      cover: coverFlag(),
      ...planFlags,
    },
    run: async ({ app, next, out, timezone, work }, flags) => {
      const { createWebinar, NewWebinar, registerUrl, setCover } = await import('./webinars.ts')
      const { findCourseNamed } = await import('../courses/courses.ts')
      const { title, at, capacity, course, accessMode, stream } = flags
      if (capacity !== undefined && !isCount(capacity))
        throw new Problem('usage', '--capacity must be a whole number, 0 or more')
      const plan = await parse(
        NewWebinar.pick({ durationMinutes: true, timezone: true, description: true }),
        await planOf(flags),
      )
      const nowMs = app.now().getTime()
      const scheduledAt = at && parseTime(at, nowMs, plan.timezone ?? (await timezone()))
      if (scheduledAt && scheduledAt <= nowMs) throw new Problem('usage', '--at must be in the future')
      // Read before anything is written: it throws if this process would make other links than the daemon.
      const registration = out.format === 'table' ? registerUrl(app, '') : ''
      const cover = await readCover(flags.cover)
      const webinar = await work(async (w) => {
        const created = await createWebinar(
          w,
          await parse(NewWebinar, {
            title,
            accessMode,
            scheduledAt,
            ...plan,
            capacity: capacity && Number(capacity),
            courseId: course && (await findCourseNamed(w, course)).id,
            streamUrl: stream,
          }),
        )
        if (cover) await setCover(w, created.id, cover)
        return created
      })
      out.one(await out.named(webinar))
      if (registration && webinar.accessMode === 'registration')
        out.note(`People register at ${registration}${webinar.id}`)
      await next(`svc webinars registrations ${webinar.id}`)
    },
  }),

  command({
    path: 'webinars update',
    summary:
      'Change a scheduled or live webinar, or the recording of an ended one; a new time emails everyone who has registered',
    examples: [
      'svc webinars update Launch --at 2026-12-02T17:00:00Z --dry-run',
      'svc webinars update Launch --capacity 200 --replay-url https://stream.example/recording --yes',
    ],
    arguments: [argument('<webinar>', 'id or title')],
    flags: updateFlags,
    run: async (context, ref, flags) => {
      const { app, out, work, confirm } = context
      const { findWebinar, planUpdate, readDetails, setCover, updateWebinar } = await import('./webinars.ts')
      const { id, title } = await work((w) => findWebinar(w, ref))
      const { timezone } = await work((w) => readDetails(w, id))
      const cover = await readCover(flags.cover)
      const change = await parseChange(flags, app.now().getTime(), timezone ?? (await context.timezone()))
      // Fails before the confirmation if the webinar can't be changed. Only a change that emails people asks.
      const { webinar, moved, promoted } = await work((w) => planUpdate(w, id, change))
      const mails = moved + promoted
      const what = `change ${title}${mails > 0 ? ` and email ${quantity(mails, 'person', 'people')}` : ''}`
      const asked = { ...flags, yes: flags.yes || mails === 0 }
      if (!(await confirm(what, asked, { ...webinar, moved, promoted, mails }))) return
      const updated = await work(async (w) => {
        if (cover !== undefined) await setCover(w, id, cover)
        return updateWebinar(app, w, id, change)
      })
      out.one(await out.named(updated.webinar))
    },
  }),

  command({
    path: 'webinars start',
    summary: 'Start a webinar: the join page opens the stream, and broadcast minutes count from now on',
    examples: ['svc webinars start Launch', 'svc webinars start Launch --stream https://stream.example/live'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: { stream: text('<url>', 'URL of the stream; replaces the previous one'), ...changing() },
    run: async ({ out, work }, ref, flags) => {
      const { findWebinar, startWebinar, StreamUrl } = await import('./webinars.ts')
      const streamUrl = flags.stream === undefined ? undefined : await parse(StreamUrl, flags.stream, 'stream')
      out.one(await out.named(await work(async (w) => startWebinar(w, (await findWebinar(w, ref)).id, { streamUrl }))))
    },
  }),

  command({
    path: 'webinars end',
    summary: 'End a live webinar and count its broadcast minutes; emails bound to attended and missed are sent',
    examples: ['svc webinars end Launch --dry-run', 'svc webinars end Launch --yes'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: confirmed('show what would change, and how many people would get an email'),
    run: async ({ out, trial, work, confirm }, ref, flags) => {
      const { endWebinar, findWebinar, planEnd } = await import('./webinars.ts')
      const { id, title } = await work((w) => findWebinar(w, ref))
      // Fails before the confirmation if the webinar can't be ended. It asks only if it emails people.
      const { mails } = await work((w) => planEnd(w, id))
      const what = `end ${title} and email ${quantity(mails, 'person', 'people')}`
      const asked = { ...flags, yes: flags.yes || mails === 0 }
      const planned = flags.dryRun ? await trial((w) => endWebinar(w, id)) : {}
      if (!(await confirm(what, asked, { ...planned, mails }))) return
      out.one(await out.named(await work((w) => endWebinar(w, id))))
    },
  }),

  command({
    path: 'webinars cancel',
    summary: 'Cancel a webinar that has not begun, and email everyone who has registered',
    examples: ['svc webinars cancel Launch --dry-run', 'svc webinars cancel Launch --yes'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: confirmed('show how many people would get an email'),
    run: async ({ app, out, work, confirm }, ref, flags) => {
      const { cancelWebinar, findWebinar, planCancellation } = await import('./webinars.ts')
      const { id, title } = await work((w) => findWebinar(w, ref))
      // Fails before the confirmation if the webinar can't be cancelled.
      const { mails } = await work((w) => planCancellation(w, id))
      const what = `cancel ${title} and email ${quantity(mails, 'person', 'people')}`
      if (!(await confirm(what, flags, { id, title, mails }))) return
      out.one(await out.named(await work((w) => cancelWebinar(app, w, id))))
    },
  }),

  command({
    path: 'webinars promote',
    summary: 'Give a seat to the first registration on the waitlist, or to the given one, even beyond the capacity',
    examples: ['svc webinars promote Launch', 'svc webinars promote Launch reg_01m82xtxmmvg2qj0qr50gtn6ay'],
    arguments: [argument('<webinar>', 'id or title'), argument('[registration]', 'its id')],
    flags: changing(),
    run: async ({ app, out, work }, ref, registrationId) => {
      const { findWebinar, listRegistrations, promoteRegistration } = await import('./webinars.ts')
      const [promoted] = await work(async (w) => {
        const webinar = await findWebinar(w, ref)
        const id = await promoteRegistration(app, w, webinar.id, registrationId ?? null)
        return listRegistrations(app, w, webinar.id, { id })
      })
      out.one(promoted!)
    },
  }),

  command({
    path: 'webinars free',
    summary: 'Free the seat of an erased person, and give it to the first on the waitlist by email',
    examples: [
      'svc webinars free Launch reg_01m82xtxmmvg2qj0qr50gtn6ay --dry-run',
      'svc webinars free Launch reg_01m82xtxmmvg2qj0qr50gtn6ay --yes',
    ],
    arguments: [argument('<webinar>', 'id or title'), argument('<registration>', 'its id')],
    flags: confirmed('show what would change'),
    run: async ({ app, out, trial, work, confirm }, ref, registrationId, flags) => {
      const { findWebinar, freeSeat } = await import('./webinars.ts')
      const { id, title, waitlistedCount, capacity, registeredCount } = await work((w) => findWebinar(w, ref))
      // Fails before the confirmation if the seat can't be freed.
      await trial((w) => freeSeat(app, w, id, registrationId))
      const mails = waitlistedCount > 0 && capacity !== null && registeredCount <= capacity ? 1 : 0
      const what = `free a seat in ${title}${mails > 0 ? ', and email the first on the waitlist' : ''}`
      if (!(await confirm(what, flags, { id, title, mails }))) return
      await work((w) => freeSeat(app, w, id, registrationId))
      out.one(await work((w) => findWebinar(w, id)))
    },
  }),

  command({
    path: 'webinars delete',
    summary: 'Delete a webinar that is over or has no registrations, with the names and addresses of its registrations',
    examples: ['svc webinars delete Launch --dry-run', 'svc webinars delete Launch --yes'],
    arguments: [argument('<webinar>', 'id or title')],
    flags: confirmed('show what would be deleted'),
    run: async ({ out, trial, work, confirm }, ref, flags) => {
      const { deleteWebinar, findWebinar } = await import('./webinars.ts')
      const { id, title } = await work((w) => findWebinar(w, ref))
      // Fails before the confirmation if the webinar can't be deleted.
      const { registrations } = await trial((w) => deleteWebinar(w, id))
      const what = `delete ${title} with ${quantity(registrations, 'registration')}`
      if (!(await confirm(what, flags, { id, title, registrations }))) return
      out.one({ id, title, ...(await work((w) => deleteWebinar(w, id))) })
    },
  }),
]
