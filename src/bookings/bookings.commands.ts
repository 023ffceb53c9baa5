import { type CommandSet, paged } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import { type PageFlags, pageRequest } from '../lib/page.ts'
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

/** `svc bookings` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('bookings', 'Times that recipients have booked in mails')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List bookings, the one that was made last first')
      .option('--upcoming', 'what is still to come, the next first')
      .option('--status <status>', 'confirmed or cancelled')
      .option('--email <email>', 'of this attendee'),
  ).action(
    cli.run(async ({ out, work }, { upcoming, status, email, ...flags }: ListFlags) => {
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
      const page = pageRequest(flags)
      const { rows, nextCursor } = await work((w) =>
        upcoming ? listUpcoming(w, filter.email, page) : listBookings(w, filter, page),
      )
      await out.list('bookings', rows, columns, nextCursor)
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
    .action(
      cli.run(async ({ app, out, work }, id: string, flags: { reason?: string }) => {
        const [{ cancelBooking, reasonMaxLength }, { parse }, { text }] = await Promise.all([
          import('./bookings.ts'),
          import('../lib/parse.ts'),
          import('../lib/text.ts'),
        ])
        const reason = parse(text(reasonMaxLength), flags.reason ?? '', '--reason').trim() || null
        const { booking, cancelled } = await work((w) => cancelBooking(app, w, id, { by: 'host', reason }))
        if (!cancelled) throw new Problem('conflict', `The booking ${id} is cancelled already`)
        out.one(booking)
      }),
    )
}
