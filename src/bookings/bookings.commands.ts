import { type CommandSet, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { BookingView } from './bookings.ts'

const columns: Column<BookingView>[] = [
  ['ID', (booking) => booking.id],
  ['START', (booking) => new Date(booking.startAt)],
  ['STATUS', (booking) => booking.status],
  ['TITLE', (booking) => booking.title],
  ['NAME', (booking) => booking.attendee.name],
  ['EMAIL', (booking) => booking.attendee.email],
]

interface ListFlags extends PageFlags {
  status?: string
  email?: string
  upcoming?: boolean
}

interface CancelFlags {
  reason?: string
  yes?: boolean
  dryRun?: boolean
}

/** `svc bookings` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bookings')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List bookings, the one that was made last first')
      .option('--upcoming', 'what is still to come, the next first')
      .option('--status <status>', 'confirmed or cancelled')
      .option('--email <email>', 'of this attendee'),
  ).action(
    cli.run(async ({ pages, work }, { upcoming, status, email, ...flags }: ListFlags) => {
      if (upcoming && status !== undefined)
        throw new Problem('usage', 'Give --upcoming or --status, not both: what is to come is confirmed')
      const [{ listBookings, listUpcoming }, { parse }, { normalizeEmail }, { z }] = await Promise.all([
        import('./bookings.ts'),
        import('../lib/parse.ts'),
        import('../lib/email.ts'),
        import('zod'),
      ])
      const filter = parse(
        z.object({
          status: z.enum(['confirmed', 'cancelled']).nullable(),
          email: z.string().transform(normalizeEmail).nullable(),
        }),
        { status: status ?? null, email: email ?? null },
      )
      const load = (page: PageRequest) =>
        work((w) => (upcoming ? listUpcoming(w, filter.email, page) : listBookings(w, filter, page)))
      await pages('bookings', flags, load, columns)
    }),
  )

  noun
    .command('show')
    .description('Show a booking')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showBooking } = await import('./bookings.ts')
        out.one(await work((w) => showBooking(w, id)))
      }),
    )

  noun
    .command('cancel')
    .description('Cancel a booking: its time is free again, and the attendee is mailed')
    .argument('<id>')
    .option('--reason <text>', 'why, for the attendee and the event')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ app, out, work, confirm }, id: string, flags: CancelFlags) => {
        const [{ cancelBooking, reasonMaxLength, showBooking }, { parse }, { text }] = await Promise.all([
          import('./bookings.ts'),
          import('../lib/parse.ts'),
          import('../lib/text.ts'),
        ])
        const reason = parse(text(reasonMaxLength), flags.reason ?? '', '--reason').trim() || null
        const { status, startAt } = await work((w) => showBooking(w, id))
        const count = status === 'cancelled' ? 0 : 1
        const planned = { id, events: { 'booking.cancelled': count }, mails: count }
        const what = `cancel the booking of ${new Date(startAt).toISOString()}: ${count} mail, ${count} booking.cancelled`
        // As with webinars: a script that names one means it.
        if (!(await confirm(what, { ...flags, yes: flags.yes || !out.isTerminal }, planned))) return
        const { booking, cancelled } = await work((w) => cancelBooking(app, w, id, { by: 'host', reason }))
        if (!cancelled) throw new Problem('conflict', `The booking ${id} is cancelled already`)
        out.one(booking)
      }),
    )
}
