import type { BlockForm } from '../engagement/engagement.ts'
import { Problem } from '../lib/problem.ts'
import { type Html, html } from '../pages/html.ts'
import { notFound, type Page, type PageCall, type PageView } from '../pages/page.ts'
import { clockOf, dayOf, spanText } from './bookings.times.ts'
import { type BookingView, cancelBooking, reasonMaxLength, showBooking } from './bookings.ts'

/** What the live view shows of the block: its props, and the starts that are free (epoch ms). */
interface ShownProps {
  title: string
  durationMinutes: number
  timezone: string
  slots: readonly number[]
}

const optionsOf = ({ slots, timezone }: ShownProps, chosen: string | undefined): Html[] =>
  [...Map.groupBy(slots, (slot) => dayOf(slot, timezone))].map(
    ([day, starts]) =>
      html`<optgroup label="${day}">${starts.map(
        (start) =>
          html`<option value="${start}"${String(start) === chosen && html` selected`}>${dayOf(start, timezone)}, ${clockOf(start, timezone)}</option>`,
      )}</optgroup>`,
  )

const bookedLine = ({ durationMinutes, timezone }: ShownProps, startAt: number): Html => {
  const span = { startAt, endAt: startAt + durationMinutes * 60_000, timezone }
  return html`<p>You are booked: <strong>${spanText(span)}</strong></p>`
}

/** A booking block as a form: free times by day, a name, and a button; once booked the time, and a form to move it. */
const bookingForm: BlockForm<'booking'> = {
  type: 'booking',
  form(block, { state, chosen }) {
    const props = block.props as typeof block.props & ShownProps
    const booked = (state?.value as { startAt: number } | undefined)?.startAt
    const isBooked = booked !== undefined
    const { title, timezone, durationMinutes, slots } = props
    const [startId, nameId] = [`${block.id}.startAt`, `${block.id}.name`]
    const heading = html`<h2>${title}</h2>
${isBooked && bookedLine(props, booked)}`
    if (slots.length === 0)
      return html`${heading}<p>${isBooked ? 'No other time is free just now.' : 'No time is free just now.'}</p>`
    const name = html`<div class="field"><label for="${nameId}">Your name</label><input id="${nameId}" name="name" maxlength="200" autocomplete="name"></div>
`
    return html`${heading}<div class="field"><label for="${startId}">${isBooked ? 'Another time' : 'Time'} <span class="quiet">(${durationMinutes} minutes, ${timezone})</span></label><select id="${startId}" name="startAt" required><option value="">Please choose</option>${optionsOf(props, chosen)}</select></div>
${!isBooked && name}<button>${isBooked ? 'Move my booking' : 'Book'}</button>`
  },
  valueOf: (_block, { startAt = '', name = '' }) => ({
    ...(/^\d{1,15}$/.test(startAt) && { startAt: Number(startAt) }),
    name,
  }),
}

export const forms: readonly BlockForm[] = [bookingForm] as unknown as readonly BlockForm[]

interface Named {
  accountId: string
  booking: BookingView
}

/** The booking of a link, as long as its account is there. */
const bookingOf = async ({ app, params }: PageCall): Promise<Named | null> => {
  const [accountId, id] = app.tokens.read('booking', params.token!, app.now().getTime()) ?? []
  if (!accountId || !id) return null
  try {
    return { accountId, booking: await showBooking({ sql: app.sql, accountId }, id) }
  } catch (error) {
    if (error instanceof Problem && error.kind === 'missing') return null
    throw error
  }
}

const style = `
label { display: block; margin-bottom: .25rem }
textarea { width: 100%; min-height: 5rem; padding: .5rem; border: 1px solid var(--quiet); border-radius: .5rem; background: var(--ground); color: var(--ink); font: inherit }
`

const question = ({ booking }: Named): PageView => ({
  title: 'Cancel your booking',
  style,
  body: html`<h1>Cancel your booking?</h1>
<p><strong>${booking.title}</strong><br>${spanText(booking)}</p>
<form method="post">
<p><label for="reason">Reason (you may leave it out)</label>
<textarea id="reason" name="reason" maxlength="${reasonMaxLength}"></textarea></p>
<button type="submit">Cancel the booking</button>
</form>`,
})

const over = ({ booking }: Named, heading: string): PageView => ({
  title: heading,
  body: html`<h1>${heading}</h1>
<p><strong>${booking.title}</strong><br>${spanText(booking)}</p>
<p>The time is free again. To book another one, open the mail in which you had booked.</p>`,
})

const before = 'This booking was cancelled before'

/** The link to cancel in the mails of a booking: nothing happens until its button is pressed. */
const path = '/b/:token'

const ask: Page = {
  method: 'GET',
  path,
  async handle(call) {
    const named = await bookingOf(call)
    if (!named) return notFound
    return named.booking.status === 'cancelled' ? over(named, before) : question(named)
  },
}

const act: Page = {
  method: 'POST',
  path,
  async handle(call) {
    const named = await bookingOf(call)
    if (!named) return notFound
    const { app, form } = call
    const { accountId, booking } = named
    const reason = (form.reason ?? '').replaceAll('\0', '').slice(0, reasonMaxLength).toWellFormed().trim() || null
    const done = await app.work(accountId, 'page:booking', (work) =>
      cancelBooking(app, work, booking.id, { by: 'attendee', reason }),
    )
    return over({ accountId, booking: done.booking }, done.cancelled ? 'Your booking is cancelled' : before)
  },
}

export const pages: readonly Page[] = [ask, act]
