/**
 * Keeps an open page up to date: on a change it loads itself again and replaces the parts that differ. Thus only the server
 * renders pages, and open details and the focus stay.
 */
export const consoleScript = `
const topics = document.body.dataset.topics.split(' ')
const connection = document.getElementById('connection')
const pause = document.getElementById('pause')
const restMs = 150
let isPaused = false
let isStale = false
let isLoading = false

const mergeRows = (list, fresh) => {
  const wanted = new Set(Array.from(fresh.children, (row) => row.id))
  for (const row of [...list.children]) if (!wanted.has(row.id)) row.remove()
  let at = list.firstElementChild
  for (const row of [...fresh.children]) {
    if (at && at.id === row.id) at = at.nextElementSibling
    else list.insertBefore(row, at)
  }
}

const takeOver = (next) => {
  for (const place of document.querySelectorAll('[data-live]')) {
    const fresh = next.getElementById(place.id)
    if (!fresh) continue
    if ('rows' in place.dataset) mergeRows(place, fresh)
    else if (place.innerHTML !== fresh.innerHTML) {
      const focused = place.contains(document.activeElement) ? document.activeElement.id : ''
      place.replaceChildren(...fresh.childNodes)
      if (focused) document.getElementById(focused)?.focus()
    }
  }
}

const load = async () => {
  isStale = true
  if (isLoading) return
  isLoading = true
  while (isStale && !isPaused) {
    isStale = false
    const began = performance.now()
    try {
      const answer = await fetch(location.href)
      if (answer.ok) {
        takeOver(new DOMParser().parseFromString(await answer.text(), 'text/html'))
        syncClock()
      }
    } catch {
      // The stream reports the lost connection, and reloads when the server is back.
    }
    // Slow reloads are less frequent, so that the page stays usable.
    await new Promise((resolve) => setTimeout(resolve, Math.max(restMs, 2 * (performance.now() - began))))
  }
  isLoading = false
}

const source = new EventSource('/stream')
source.addEventListener('hello', () => {
  connection.textContent = ''
  load()
})
source.addEventListener('change', ({ data }) => {
  if (data.split(' ').some((topic) => topics.includes(topic))) load()
})
source.addEventListener('error', () => {
  connection.textContent = 'Not connected: svc dev has stopped. Reconnecting…'
})

if (pause) {
  pause.hidden = false
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.setAttribute('aria-pressed', String(isPaused))
    pause.textContent = isPaused ? 'Resume' : 'Pause'
    if (!isPaused) load()
  })
}

const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' })
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
let aheadMs = 0
const syncClock = () => {
  aheadMs = Number(document.querySelector('#clock .now').dataset.now) - Date.now()
}
const tick = () => {
  const now = Date.now() + aheadMs
  document.querySelector('#clock .now').textContent = day.format(now) + ' ' + time.format(now)
}
syncClock()
setInterval(tick, 1000)
`
