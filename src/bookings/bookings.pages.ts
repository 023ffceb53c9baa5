import { readBrand } from '../accounts/accounts.ts'
import { type BlockForm, enteredInto } from '../engagement/engagement.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { cut } from '../lib/strings.ts'
import { type Html, html } from '../pages/html.ts'
import { notFoundPage, type Page, type PageCall, type PageView } from '../pages/page.ts'
import { bookingLine } from '../studio/studio.ts'
import { type BookingView, cancelBooking, reasonMaxLength, showBooking } from './bookings.ts'
import { clockOf, dayOf, spanText } from './bookings.view.ts'

/** The props of a booking block in the live view, with its free start times (epoch ms). */
interface ShownProps {
  title: string
  durationMinutes: number
  timezone: string
  slots: readonly number[]
}

interface TimeChoice {
  timezone: string
  lang: string | null
  isChosen: boolean
}

const timeChoice = (id: string, start: number, { timezone, lang, isChosen }: TimeChoice): Html => {
  const own = html`id="${id}.${start}" name="startAt" value="${start}"${isChosen && html` checked`}`
  return html`<label><input type="radio" ${own}>${clockOf(start, timezone, lang)}</label>
`
}

/** Groups the free times by day. The day of the chosen time is expanded, else the first one. */
const daysOf = (
  id: string,
  { slots, timezone }: ShownProps,
  { chosen, lang }: { chosen: string | undefined; lang: string | null },
): Html => {
  const days = [...Map.groupBy(slots, (slot) => dayOf(slot, timezone, lang))]
  const open = Math.max(
    0,
    days.findIndex(([, starts]) => starts.some((start) => String(start) === chosen)),
  )
  const ofDay = (
    day: string,
    starts: readonly number[],
    isOpen: boolean,
  ): Html => html`<details${isOpen && html` open`}>
<summary>${day} <span class="quiet">(${quantity(starts.length, 'time', 'times', lang)})</span></summary>
<div class="times">
${starts.map((start) => timeChoice(id, start, { timezone, lang, isChosen: String(start) === chosen }))}</div>
</details>
`
  return html`<div class="days">
${days.map(([day, starts], i) => ofDay(day, starts, i === open))}</div>`
}

const bookedLine = (
  { durationMinutes, timezone }: ShownProps,
  startAt: number,
  { isOver, lang }: { isOver: boolean; lang: string | null },
): Html => {
  const span = spanText({ startAt, endAt: startAt + durationMinutes * 60_000, timezone }, lang)
  return isOver
    ? html`<p class="quiet">Your last booking: ${span}</p>`
    : html`<p class="notice" role="status">You are booked: <strong>${span}</strong></p>`
}

/** A booking block as a form: free times by day, a name and a button. Once booked: the time, and a form to move it. */
const bookingForm: BlockForm<'booking'> = {
  type: 'booking',
  form(block, { state, chosen, now, lang, entered }) {
    const props = block.props as typeof block.props & ShownProps
    const booked = (state?.value as { startAt: number } | undefined)?.startAt
    const { title, durationMinutes, slots } = props
    const isOver = booked !== undefined && booked + durationMinutes * 60_000 <= now
    const isBooked = booked !== undefined && !isOver
    const nameId = `${block.id}.name`
    const heading = html`<h2>${title}</h2>
${booked !== undefined && bookedLine(props, booked, { isOver, lang })}`
    if (slots.length === 0)
      return html`${heading}
<p>${isBooked ? 'No other time is free at the moment.' : 'No time is free at the moment.'}</p>`
    const own = html`id="${nameId}" name="name" maxlength="200" autocomplete="name" value="${enteredInto(entered, 'name')}"`
    const name = html`<div class="field">
<label for="${nameId}">Your name <span class="quiet">(optional)</span></label>
<input ${own}>
</div>
`
    const preferred = enteredInto(entered, 'startAt') || chosen
    const times = (label: string) => html`<fieldset>
<legend>${label} <span class="quiet">(${bookingLine(props, lang)})</span></legend>
${daysOf(block.id, props, { chosen: preferred, lang })}
</fieldset>
`
    if (!isBooked)
      return html`${heading}
${times('Time')}${name}<button>Book</button>`
    // Collapsed: the list of times is long, and most attendees with a booking don't need it.
    const isOpen = Object.hasOwn(entered, 'block') || chosen !== undefined
    return html`${heading}
<details class="move"${isOpen && html` open`}>
<summary>Choose another time</summary>
${times('Another time')}<button>Move my booking</button>
</details>`
  },
  labels: () => [
    ['startAt', 'Time'],
    ['name', 'Your name'],
  ],
  valueOf: (_block, { startAt = '', name = '' }) => ({
    ...(/^\d{1,15}$/.test(startAt) && { startAt: Number(startAt) }),
    name,
  }),
}

// A list of several kinds: each is called only with blocks of its own type.
export const forms: readonly BlockForm[] = [bookingForm]

interface LinkedBooking {
  accountId: string
  /** The language of dates and numbers; null: English. */
  lang: string | null
  booking: BookingView
}

/** Returns the booking that a link names; null if the link is not valid, or the booking or its account is deleted. */
const bookingOf = async ({ app, params }: PageCall): Promise<LinkedBooking | null> => {
  const [accountId, id] = app.tokens.read('booking', params.token!, app.now().getTime()) ?? []
  if (!accountId || !id) return null
  try {
    const reader = { sql: app.sql, accountId }
    return { accountId, booking: await showBooking(reader, id), lang: (await readBrand(reader)).lang }
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return null
    throw error
  }
}

const style = `
label { display: block; margin-bottom: .25rem }
textarea {
  width: 100%; min-height: 5rem; padding: .5rem; border: 1px solid var(--quiet); border-radius: .5rem;
  background: var(--ground); color: var(--ink); font: inherit
}
`

const confirmPage = ({ booking, lang }: LinkedBooking): PageView => ({
  title: 'Cancel your booking',
  style,
  body: html`<h1>Cancel your booking?</h1>
<p><strong>${booking.title}</strong><br>${spanText(booking, lang)}</p>
<form method="post">
<p><label for="reason">Reason <span class="quiet">(optional)</span></label>
<textarea id="reason" name="reason" maxlength="${reasonMaxLength}"></textarea></p>
<button type="submit">Cancel the booking</button>
</form>`,
})

const cancelledPage = ({ booking, lang }: LinkedBooking, heading: string): PageView => ({
  title: heading,
  body: html`<h1>${heading}</h1>
<p><strong>${booking.title}</strong><br>${spanText(booking, lang)}</p>
<p>The time is free again. To book another one, open the email that you booked from.</p>`,
})

const alreadyCancelled = 'This booking is already cancelled'

const endedPage = ({ booking, lang }: LinkedBooking): PageView => ({
  title: 'This booking is over',
  body: html`<h1>This booking is over</h1>
<p><strong>${booking.title}</strong><br>${spanText(booking, lang)}</p>
<p>It can no longer be cancelled. To book another time, open the email that you booked from.</p>`,
})

/** The cancellation link in a booking's emails. GET only shows a form, because mail programs and scanners follow links. */
const path = '/b/:token'

const showCancellation: Page = {
  method: 'GET',
  path,
  token: 'booking',
  async handle(call) {
    const linked = await bookingOf(call)
    if (!linked) return notFoundPage
    if (linked.booking.status === 'cancelled') return cancelledPage(linked, alreadyCancelled)
    return linked.booking.endAt <= call.app.now().getTime() ? endedPage(linked) : confirmPage(linked)
  },
}

const submitCancellation: Page = {
  method: 'POST',
  path,
  token: 'booking',
  async handle(call) {
    const linked = await bookingOf(call)
    if (!linked) return notFoundPage
    const { app, form } = call
    const { accountId, booking, lang } = linked
    const reason =
      cut((form.reason ?? '').replaceAll('\0', ''), reasonMaxLength)
        .toWellFormed()
        .trim() || null
    const done = await app.work(accountId, 'page:booking', (work) =>
      cancelBooking(app, work, booking.id, { by: 'attendee', reason }),
    )
    if (done.booking.status === 'confirmed') return endedPage({ accountId, lang, booking: done.booking })
    return cancelledPage(
      { accountId, lang, booking: done.booking },
      done.cancelled ? 'Your booking is cancelled' : alreadyCancelled,
    )
  },
}

export const pages: readonly Page[] = [showCancellation, submitCancellation]
