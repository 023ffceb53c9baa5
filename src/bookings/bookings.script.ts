import { hour12Script } from '../lib/hour12.ts'

/** Whether times have 12 hours: as the visitor chose before, or else as their language writes them. */
const clockScript = `
${hour12Script}
const clockKey = 'svc-clock'
let is12 = hour12
try { is12 = (localStorage.getItem(clockKey) ?? (hour12 ? '12' : '24')) === '12' } catch {}
`

/**
 * Script of a booking block: replaces the list of days by months as a grid, and shows times in the visitor's zone and clock, with
 * switches to the host's zone, to any other zone and to the other clock. Every time is formatted by `Intl` from its instant, so
 * changes of the clocks in either zone are right. The times that it offers are radio buttons of the same form.
 */
export const bookingScript = `
${clockScript}
for (const root of document.querySelectorAll('.booking[data-starts]')) {
  const { lang, zone: hostZone, minutes, now, chosen: preferred } = root.dataset
  let last = 0
  const starts = root.dataset.starts.split(' ').map((step) => (last += Number(step)) * 60000)
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes))
      if (value !== false) node.setAttribute(name, value)
    node.append(...children)
    return node
  }
  const utc = (options) => {
    const format = new Intl.DateTimeFormat(lang, { timeZone: 'UTC', ...options })
    return (key) => format.format(Date.parse(key + 'T00:00Z'))
  }
  // Beside the switch of the clock there is room for a short name.
  const dayName = utc({ weekday: 'short', day: 'numeric', month: 'short' })
  const fullName = utc({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
  const monthName = utc({ month: 'long', year: 'numeric' })
  const numberName = utc({ day: 'numeric' })
  const shift = (key, days) => new Date(Date.parse(key + 'T00:00Z') + days * 86400000).toISOString().slice(0, 10)
  const times = (count) => count.toLocaleString(lang) + (count === 1 ? ' time' : ' times')

  /** The starts by local day, and their clock times, in a zone. */
  const read = (zone) => {
    const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
    const clocks = [
      { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
      { timeZone: zone, hour: 'numeric', minute: '2-digit', hourCycle: 'h12' },
    ]
    const short = clocks.map((clock) => new Intl.DateTimeFormat(lang, clock))
    const long = clocks.map((clock) => new Intl.DateTimeFormat(lang, { ...clock, timeZoneName: 'short' }))
    const shortOf = (at) => short[Number(is12)].format(at)
    const days = new Map()
    const dayOf = (at) => {
      const { year, month, day } = Object.fromEntries(parts.formatToParts(at).map(({ type, value }) => [type, value]))
      return year + '-' + month + '-' + day
    }
    for (const at of starts) {
      const key = dayOf(at)
      days.set(key, [...(days.get(key) ?? []), at])
    }
    // Where the clocks are set back, a time comes twice on one day.
    const clockOf = (at) => {
      const text = shortOf(at)
      const isTwice = days.get(dayOf(at))?.some((other) => other !== at && shortOf(other) === text)
      return isTwice ? long[Number(is12)].format(at) : text
    }
    return { name: zone.replaceAll('_', ' '), days, dayOf, clockOf, shortOf }
  }
  const host = read(hostZone)
  const own = read(Intl.DateTimeFormat().resolvedOptions().timeZone)
  const isSame = starts.every((at) => own.dayOf(at) === host.dayOf(at) && own.shortOf(at) === host.shortOf(at))
  let zone = isSame ? host : own
  let chosen = starts.find((at) => String(at) === preferred)
  let day = zone.dayOf(chosen ?? starts[0])
  let month = day.slice(0, 7)

  const firstDay = new Intl.Locale(lang).getWeekInfo?.().firstDay ?? 1
  const monday = '2024-01-01'
  const weekdays = Array.from({ length: 7 }, (_, i) => shift(monday, firstDay - 1 + i))
  const [shortWeekday, longWeekday] = [utc({ weekday: 'short' }), utc({ weekday: 'long' })]
  const id = root.closest('section').id

  const title = make('h3', { id: id + '.month', 'aria-live': 'polite' })
  const turn = (label, sign, step) => {
    const button = make('button', { type: 'button', class: 'turn', 'aria-label': label }, sign)
    button.addEventListener('click', () => {
      const next = monthBy(step)
      if (next) show(next)
    })
    return button
  }
  const monthBy = (step) => {
    const months = [...new Set([...zone.days.keys()].map((key) => key.slice(0, 7)))].sort()
    return step < 0 ? months.findLast((one) => one < month) : months.find((one) => one > month)
  }
  const back = turn('Previous month', '‹', -1)
  const forth = turn('Next month', '›', 1)
  const body = make('tbody')
  const head = make('tr', {}, ...weekdays.map((key) =>
    make('th', { scope: 'col' },
      make('span', { 'aria-hidden': 'true' }, shortWeekday(key)),
      make('span', { class: 'hidden' }, longWeekday(key)))))
  const grid = make('table', { class: 'grid', 'aria-labelledby': title.id }, make('thead', {}, head), body)

  const cell = (key) => {
    if (key.slice(0, 7) !== month) return make('td')
    const count = zone.days.get(key)?.length
    const today = { 'aria-current': key === zone.dayOf(Number(now)) && 'date' }
    if (!count) return make('td', {}, make('button', { type: 'button', disabled: '', ...today }, numberName(key)))
    const label = fullName(key) + ', ' + times(count)
    const isShown = key === day
    const isReached = day.slice(0, 7) === month ? isShown : key === [...zone.days.keys()].find((one) => one.startsWith(month))
    return make('td', {}, make('button',
      { type: 'button', 'data-day': key, 'aria-label': label, 'aria-pressed': String(isShown), tabindex: isReached ? '0' : '-1', ...today },
      numberName(key)))
  }
  /** Shows a month. With \`key\`, the day gets the focus. */
  const show = (next, key) => {
    month = next
    title.textContent = monthName(month + '-01')
    back.setAttribute('aria-disabled', String(!monthBy(-1)))
    forth.setAttribute('aria-disabled', String(!monthBy(1)))
    const first = month + '-01'
    const before = (new Date(first + 'T00:00Z').getUTCDay() - (firstDay % 7) + 7) % 7
    const rows = []
    for (let start = shift(first, -before); start.slice(0, 7) <= month; start = shift(start, 7))
      rows.push(make('tr', {}, ...weekdays.map((_, i) => cell(shift(start, i)))))
    body.replaceChildren(...rows)
    if (key) body.querySelector('[data-day="' + key + '"]').focus()
  }

  const dayTitle = make('h3', { id: id + '.day', 'aria-live': 'polite' })
  const list = make('div', { role: 'radiogroup', 'aria-labelledby': dayTitle.id })
  const summary = make('p', { class: 'summary', role: 'status' })
  const finish = root.querySelector('.finish')
  const showTimes = () => {
    const these = zone.days.get(day) ?? []
    dayTitle.textContent = dayName(day)
    list.className = 'times in-' + (these.length % 3 === 0 ? 3 : 2)
    list.replaceChildren(...these.map((at) => {
      const radio = make('input', { type: 'radio', name: 'startAt', value: at, id: id + '.' + at })
      radio.checked = at === chosen
      return make('label', { for: radio.id }, radio, zone.clockOf(at))
    }))
    showChosen()
  }
  const showChosen = () => {
    finish.hidden = chosen === undefined
    if (chosen === undefined) return summary.replaceChildren()
    const end = zone.shortOf(chosen + minutes * 60000)
    const span = zone.clockOf(chosen) + '–' + end + ' (' + zone.name + ')'
    summary.replaceChildren(make('strong', {}, fullName(zone.dayOf(chosen))), make('br'), span)
  }
  const pick = (key) => {
    if (key !== day) chosen = undefined
    day = key
    showTimes()
    show(key.slice(0, 7), key)
  }
  list.addEventListener('change', (event) => {
    chosen = Number(event.target.value)
    showChosen()
    finish.scrollIntoView({ block: 'nearest' })
  })
  body.addEventListener('click', ({ target }) => {
    if (target.dataset.day) pick(target.dataset.day)
  })
  body.addEventListener('keydown', (event) => {
    const at = event.target.dataset.day
    if (!at) return
    const keys = [...zone.days.keys()].sort()
    const ofMonth = keys.filter((key) => key.startsWith(month))
    const from = (key) => keys.find((one) => one >= key)
    const until = (key) => keys.findLast((one) => one <= key)
    const isForth = getComputedStyle(root).direction === 'ltr' ? 'ArrowRight' : 'ArrowLeft'
    const target = {
      ArrowRight: () => (isForth === 'ArrowRight' ? from(shift(at, 1)) : until(shift(at, -1))),
      ArrowLeft: () => (isForth === 'ArrowRight' ? until(shift(at, -1)) : from(shift(at, 1))),
      ArrowDown: () => from(shift(at, 7)),
      ArrowUp: () => until(shift(at, -7)),
      Home: () => ofMonth[0],
      End: () => ofMonth.at(-1),
      PageDown: () => monthBy(1) && from(monthBy(1)),
      PageUp: () => monthBy(-1) && from(monthBy(-1)),
    }[event.key]
    if (!target) return
    event.preventDefault()
    const key = target()
    if (!key) return
    show(key.slice(0, 7), key)
    for (const one of body.querySelectorAll('[data-day]')) one.tabIndex = one.dataset.day === key ? 0 : -1
  })

  const inClock = (label, is) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(is === is12) }, label)
    button.addEventListener('click', () => {
      is12 = is
      try { localStorage.setItem(clockKey, is ? '12' : '24') } catch {}
      for (const other of clocks.children) other.setAttribute('aria-pressed', String(other === button))
      showTimes()
    })
    return button
  }
  const clocks = make('div', { class: 'clocks', role: 'group', 'aria-label': 'Clock' }, inClock('12h', true), inClock('24h', false))

  const goTo = (one, button) => {
    zone = one
    for (const other of zones.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button))
    const first = [...zone.days.keys()].sort()
    day = chosen === undefined ? (first.find((key) => key >= day) ?? first[0]) : zone.dayOf(chosen)
    showTimes()
    show(day.slice(0, 7))
  }
  const inZone = (label, one) => {
    const button = make('button', { type: 'button', 'aria-pressed': String(one === zone) }, label, make('small', {}, one.name))
    button.addEventListener('click', () => {
      another.value = ''
      goTo(one, button)
    })
    return button
  }
  const another = make('select', { 'aria-label': 'Another time zone' }, make('option', { value: '' }, 'Another time zone'),
    ...Intl.supportedValuesOf('timeZone').map((name) => make('option', { value: name }, name.replaceAll('_', ' '))))
  const zones = make('div', { class: 'zones', role: 'group', 'aria-label': 'Time zone' },
    ...(isSame ? [inZone('Time zone', host)] : [inZone('Your time', own), inZone('Host’s time', host)]), another)
  another.addEventListener('change', () => {
    if (another.value) goTo(read(another.value))
    else zones.querySelector('button').click()
  })
  const panes = make('div', { class: 'panes' },
    make('div', {}, make('div', { class: 'months' }, back, title, forth), grid),
    make('div', {}, make('div', { class: 'day-head' }, dayTitle, clocks), list))
  root.querySelector('fieldset').replaceWith(zones, panes)
  finish.before(summary)
  showTimes()
  show(month)
}
`

/** Script of a booking's page: adds the time in the visitor's zone if it differs. */
export const localTimeScript = `
${clockScript}
const when = document.getElementById('when')
if (when) {
  const { lang, zone, start, end } = when.dataset
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  const style = { dateStyle: 'full', timeStyle: 'short', hourCycle: is12 ? 'h12' : 'h23' }
  const text = (timeZone) =>
    new Intl.DateTimeFormat(lang, { timeZone, ...style }).formatRange(Number(start), Number(end))
  if (text(own) !== text(zone)) {
    when.textContent = 'In your time zone: ' + text(own) + ' (' + own.replaceAll('_', ' ') + ')'
    when.hidden = false
  }
}
`
