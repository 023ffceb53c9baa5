import { type CommandSet, type Confirmation, confirmed, examples, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page-request.ts'
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

interface CancelFlags extends Confirmation {
  reason?: string
}

/** `svc bookings` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bookings')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List bookings, newest first')
      .addHelpText(
        'after',
        examples('svc bookings --upcoming', 'svc bookings list --status confirmed --email ada@example.com --json'),
      )
      .option('--upcoming', 'only confirmed bookings in the future, earliest first')
      .option('--status <status>', 'confirmed or cancelled')
      .option('--email <email>', 'only bookings of this attendee'),
  ).action(
    cli.run(async ({ pages, work }, { upcoming, status, email, ...flags }: ListFlags) => {
      if (upcoming && status !== undefined)
        throw new Problem('usage', 'Use --upcoming or --status, not both: upcoming bookings are always confirmed')
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
    .addHelpText(
      'after',
      examples(
        'svc bookings show bkg_01m82xtxmmvg2qj0qr50gtn6ay',
        'svc bookings show bkg_01m82xtxmmvg2qj0qr50gtn6ay --json',
      ),
    )
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showBooking } = await import('./bookings.ts')
        out.one(await work((w) => showBooking(w, id)))
      }),
    )

  confirmed(
    noun
      .command('cancel')
      .description('Cancel a booking, free its time and email the attendee')
      .addHelpText(
        'after',
        examples(
          'svc bookings cancel bkg_01m82xtxmmvg2qj0qr50gtn6ay --reason "We are ill" --yes',
          'svc bookings cancel bkg_01m82xtxmmvg2qj0qr50gtn6ay --dry-run',
        ),
      )
      .argument('<id>')
      .option('--reason <text>', 'the reason, shown to the attendee and in the event'),
  ).action(
    cli.run(async ({ app, out, work, confirm }, id: string, flags: CancelFlags) => {
      const [{ cancelBooking, reasonMaxLength, showBooking }, { parse }, { text }] = await Promise.all([
        import('./bookings.ts'),
        import('../lib/parse.ts'),
        import('../lib/text.ts'),
      ])
      const reason = parse(text(reasonMaxLength), flags.reason ?? '', '--reason').trim() || null
      const { title, startAt, attendee, isOpen } = await work(async (w) => {
        const { status, ...booking } = await showBooking(w, id)
        return { ...booking, isOpen: status === 'confirmed' && booking.endAt > w.now.getTime() }
      })
      const count = isOpen ? 1 : 0
      const planned = { id, events: { 'booking.cancelled': count }, mails: count }
      const booked = `${title}, ${out.time(startAt)}`
      const what = isOpen
        ? `cancel the booking ${booked}, email ${attendee.email} and fire 1 booking.cancelled`
        : `change nothing: the booking ${booked} is over`
      // A booking that is over is refused below, so there is nothing to confirm.
      if (!(await confirm(what, { ...flags, yes: flags.yes || !isOpen }, planned))) return
      const { booking, cancelled } = await work((w) => cancelBooking(app, w, id, { by: 'host', reason }))
      if (!cancelled)
        throw new Problem(
          'conflict',
          booking.status === 'cancelled' ? `The booking ${id} is already cancelled` : `The booking ${id} has ended`,
        )
      out.one(booking)
    }),
  )
}
