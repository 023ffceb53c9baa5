import { type BlockForm, enteredInto } from '../engagement/engagement.ts'
import { quantity } from '../lib/quantity.ts'
import { type Html, html } from '../pages/html.ts'
import { bookingLine } from '../studio/studio.ts'
import { movableBooking } from './bookings.find.ts'
import { linksOf } from './bookings.notify.ts'
import { bookingScript } from './bookings.script.ts'
import { clockOf, dayOf, spanText } from './bookings.view.ts'

/*
 * A booking block in the live view. Without scripts its free times are a list of days, in the host's time zone. The script
 * replaces it by months as a grid.
 */

/** The props of a booking block in the live view, with its free start times (epoch ms). */
interface ShownProps {
  title: string
  durationMinutes: number
  timezone: string
  slots: readonly number[]
  /** The path of the page of the recipient's booking. */
  booking?: string
}

/** How many times the list of days has. Further ones need the script. */
const maxListed = 200

interface Listed {
  lang: string | null
  /** The start time that is chosen at first. */
  chosen: string | undefined
}

/** Returns the class of a list of times: as many columns as fit and leave no row with a gap, if there are such. */
const columnsOf = (count: number): string => `in-${count % 3 === 0 ? 3 : 2}${count % 4 === 0 ? ' wide-4' : ''}`

/** Groups the free times by day. The day of the chosen time is expanded, else the first one. */
const daysOf = (id: string, { slots, timezone }: ShownProps, { chosen, lang }: Listed): Html => {
  const days = [...Map.groupBy(slots.slice(0, maxListed), (slot) => dayOf(slot, timezone, lang))]
  const open = Math.max(
    0,
    days.findIndex(([, starts]) => starts.some((start) => String(start) === chosen)),
  )
  const time = (start: number): Html => {
    const own = html`id="${id}.${start}" name="startAt" value="${start}"${String(start) === chosen && html` checked`}`
    return html`<label><input type="radio" ${own}>${clockOf(start, timezone, lang)}</label>
`
  }
  const ofDay = ([day, starts]: [string, number[]], i: number): Html => html`<details${i === open && html` open`}>
<summary>${day} <span class="quiet">(${quantity(starts.length, 'time', 'times', lang)})</span></summary>
<div class="times ${columnsOf(starts.length)}">
${starts.map(time)}</div>
</details>
`
  return html`<div class="days">
${days.map(ofDay)}</div>`
}

const minuteMs = 60_000

/** Returns start times as minutes: the first since 1970, each other one since the one before it. */
const stepsOf = (slots: readonly number[]): string =>
  slots.map((slot, i) => (slot - (i === 0 ? 0 : slots[i - 1]!)) / minuteMs).join(' ')

const bookedLine = (
  { durationMinutes, timezone, booking }: ShownProps,
  startAt: number,
  { isOver, lang }: { isOver: boolean; lang: string | null },
): Html => {
  const span = spanText({ startAt, endAt: startAt + durationMinutes * minuteMs, timezone }, lang)
  return isOver
    ? html`<p class="quiet">Your last booking: ${span}</p>`
    : html`<p class="notice good" role="status">You are booked: <strong>${span}</strong></p>
${booking !== undefined && html`<p><a class="act plain" href="${booking}">Add to calendar, or cancel</a></p>`}`
}

/** A booking block as a form: free times by day, a name and a button. Once booked: the time, and a form to move it. */
const bookingForm: BlockForm<'booking'> = {
  type: 'booking',
  form(block, { state, isFirst, chosen, now, lang, host, entered }) {
    const props = block.props as typeof block.props & ShownProps
    const booked = (state?.value as { startAt: number } | undefined)?.startAt
    const { title, durationMinutes, timezone, slots } = props
    const isOver = booked !== undefined && booked + durationMinutes * minuteMs <= now
    const isBooked = booked !== undefined && !isOver
    const nameId = `${block.id}.name`
    const heading = html`<h2>${title}</h2>
<p class="meeting">${host !== null && html`<span>With ${host}</span> `}<span>${bookingLine(props, lang)}</span></p>
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
    const data = html`data-starts="${stepsOf(slots)}" data-lang="${lang ?? 'en-GB'}" data-zone="${timezone}"
 data-minutes="${durationMinutes}" data-now="${now}"${preferred !== undefined && html` data-chosen="${preferred}"`}`
    const picker = (label: string, finish: Html) => html`<div class="booking" ${data}>
<fieldset>
<legend>${label} <span class="quiet">(${timezone})</span></legend>
${daysOf(block.id, props, { chosen: preferred, lang })}
</fieldset>
<div class="finish">
${finish}
</div>
</div>`
    if (!isBooked)
      return html`${heading}
${picker('Time', html`${name}<button>Book</button>`)}`
    // Collapsed: the months are tall, and most attendees with a booking don't need them.
    const isOpen = isFirst || Object.hasOwn(entered, 'block')
    return html`${heading}
<details class="move"${isOpen && html` open`}>
<summary>Choose another time</summary>
${picker('Another time', html`<button>Move my booking</button>`)}
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
  async next(app, { accountId, id: messageId }, { id: blockId }) {
    const booking = await movableBooking({ sql: app.sql, accountId }, messageId, blockId, app.now())
    if (!booking) return null
    const { cancel } = linksOf(app, accountId, { id: booking.id, messageId, blockId })
    return `${new URL(cancel).pathname}?booked`
  },
  script: bookingScript,
  style: `
.meeting { margin: 0 0 1rem }
.meeting span + span::before { content: '· ' }
.move > summary { padding: .6rem 0; cursor: pointer; font-weight: 600 }
.booking legend, .booking h3 { margin: 0 0 .75rem; font-size: 1rem; font-weight: 600; line-height: 1.5 }
.days { display: grid; gap: .5rem; margin: 0 0 1.25rem }
.days details { border: 1px solid var(--edge); border-radius: .5rem; padding: 0 .75rem }
.days summary { padding: .6rem 0; cursor: pointer }
.days .times { padding: 0 0 .75rem }
.times { display: grid; gap: .5rem }
.times label {
  position: relative; display: grid; place-items: center; min-height: 2.75rem; padding: .25rem;
  border: 1px solid var(--edge); border-radius: .5rem;
  font-weight: 600; font-variant-numeric: tabular-nums; text-align: center; overflow-wrap: normal
}
.times label:has(:checked) { background: var(--act); border-color: var(--act); color: var(--on-act) }
.times input[type=radio] {
  appearance: none; position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; border-radius: inherit; cursor: pointer
}
.zones { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1.25rem }
.zones button, .clocks button, .grid button, .turn { background: transparent; color: var(--ink) }
.zones button { flex: 1; padding: .4rem .25rem; font-size: .95rem; line-height: 1.3; box-shadow: inset 0 0 0 1px var(--edge) }
.zones button[aria-pressed=true] {
  box-shadow: inset 0 0 0 2px var(--act); background: color-mix(in srgb, var(--act) 9%, transparent)
}
.day-head { display: flex; gap: .75rem; align-items: start; justify-content: space-between; min-height: 3rem; margin: 0 0 .75rem }
.booking .day-head h3 { margin: 0 }
.clocks { display: flex; flex: none; padding: .125rem; border-radius: .5rem; box-shadow: inset 0 0 0 1px var(--edge) }
.clocks button { min-height: 1.75rem; padding: 0 .5rem; border-radius: .375rem; font-size: .8rem; font-weight: 400 }
.clocks button[aria-pressed=true] { background: color-mix(in srgb, var(--act) 18%, transparent); font-weight: 600 }
.zones select { flex: 1 1 100%; width: auto; min-width: 0 }
.zones small { display: block; font-size: .8rem; font-weight: 400 }
.panes { display: grid; gap: 1.5rem; margin: 0 0 1.25rem }
.panes .times { max-height: 18rem; margin: -.375rem; padding: .375rem; overflow-y: auto }
.months { display: flex; align-items: center; justify-content: space-between; margin: 0 0 .25rem }
.booking .months h3 { margin: 0 }
.turn { width: 2.75rem; padding: 0; font-size: 1.5rem; line-height: 1 }
.turn[aria-disabled=true], .grid :disabled { opacity: .4; font-weight: 400; cursor: default }
section .grid { table-layout: fixed; margin: 0; border-collapse: separate; border-spacing: 2px }
section .grid :is(th, td) { padding: 0; text-align: center; font-size: .85rem; font-weight: 400 }
section .grid td { font-size: 1rem }
.grid button { width: 100%; padding: 0; border-radius: .5rem; font-variant-numeric: tabular-nums }
.grid [aria-current] { text-decoration: underline 2px; text-underline-offset: .3em; font-weight: 700 }
.grid button:enabled { background: color-mix(in srgb, var(--act) 24%, transparent); box-shadow: inset 0 0 0 1px var(--edge) }
.grid button[aria-pressed=true] { background: var(--act); color: var(--on-act); box-shadow: none }
@media (hover: hover) { .grid :disabled:hover, .turn[aria-disabled=true]:hover { filter: none } }
.summary:not(:empty) { padding: .75rem 1rem; border: 1px solid var(--edge); border-radius: .5rem }
.finish[hidden] { display: none }
@container (min-width: 24rem) { .days .wide-4 { grid-template-columns: repeat(4, 1fr) } }
@container (min-width: 32rem) {
  .zones select { flex-basis: 0 }
  .panes { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr) }
  .panes .times { max-height: 21rem; grid-template-columns: 1fr 1fr }
  .finish { display: grid; grid-template-columns: 1fr auto; gap: .75rem; align-items: end }
  .finish .field { margin: 0 }
}
`,
}

// A list of several kinds: each is called only with blocks of its own type.
export const forms: readonly BlockForm[] = [bookingForm]
