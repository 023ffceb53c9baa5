import { type CommandList, command } from '../cli/define.ts'
import { argument, confirmed, paged, present, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import type { BookingView } from './bookings.ts'

const columns: Column<BookingView>[] = [
  ...properties<BookingView>('id', 'startAt', 'status', 'title'),
  ['NAME', (booking) => booking.attendee.name],
  ['EMAIL', (booking) => booking.attendee.email],
]

/** The commands `svc bookings`. */
export const commands: CommandList = [
  command({
    path: 'bookings list',
    isDefault: true,
    summary: 'List bookings, newest first',
    examples: ['svc bookings --upcoming', 'svc bookings list --status confirmed --email ada@example.com --json'],
    flags: {
      upcoming: present('only confirmed bookings in the future, earliest first'),
      status: text('<status>', 'confirmed or cancelled', { of: ['confirmed', 'cancelled'] }),
      email: text('<email>', 'only bookings of this attendee'),
      ...paged,
    },
    run: async ({ pages, work }, { upcoming, status, email, ...flags }) => {
      if (upcoming && status !== undefined)
        throw new Problem('usage', 'Use --upcoming or --status, not both: upcoming bookings are always confirmed')
      const { listBookings, listUpcoming } = await import('./bookings.ts')
      const { normalizeEmail } = await import('../lib/email.ts')
      const { z } = await import('zod')
      const filter = await parse(
        z.object({
          status: z.enum(['confirmed', 'cancelled']).nullable(),
          email: z.string().transform(normalizeEmail).nullable(),
        }),
        { status: status ?? null, email: email ?? null },
      )
      const load = (page: PageRequest) =>
        work((w) => (upcoming ? listUpcoming(w, filter.email, page) : listBookings(w, filter, page)))
      await pages('bookings', flags, load, columns)
    },
  }),

  command({
    path: 'bookings show',
    summary: 'Show a booking',
    examples: [
      'svc bookings show bkg_01m82xtxmmvg2qj0qr50gtn6ay',
      'svc bookings show bkg_01m82xtxmmvg2qj0qr50gtn6ay --json',
    ],
    arguments: [argument('<id>')],
    run: async ({ out, work }, id) => {
      const { showBooking } = await import('./bookings.ts')
      out.one(await work((w) => showBooking(w, id)))
    },
  }),

  command({
    path: 'bookings cancel',
    summary: 'Cancel a booking, free its time and email the attendee',
    examples: [
      'svc bookings cancel bkg_01m82xtxmmvg2qj0qr50gtn6ay --reason "We are ill" --yes',
      'svc bookings cancel bkg_01m82xtxmmvg2qj0qr50gtn6ay --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: { reason: text('<text>', 'the reason, shown to the attendee and in the event'), ...confirmed() },
    run: async ({ app, out, work, confirm }, id, flags) => {
      const { cancelBooking, reasonMaxLength, showBooking } = await import('./bookings.ts')
      const { text } = await import('../lib/text.ts')
      const reason = (await parse(text(reasonMaxLength), flags.reason ?? '', '--reason')).trim() || null
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
    },
  }),
]
