/**
 * Keeps an open page up to date: on a change it loads itself again and replaces the parts that differ. Thus only the server
 * renders pages, and open details and the focus stay. While a list is in use, new rows wait until the reader asks for them, so
 * that nothing moves.
 */
export const consoleScript = `
const topics = document.body.dataset.topics.split(' ')
const connection = document.getElementById('connection')
const pause = document.getElementById('pause')
const news = document.getElementById('news')
const restMs = 150
let isPaused = false
let isStale = false
let isLoading = false
let isAsked = false

const mergeRows = (list, fresh) => {
  const wanted = new Set(Array.from(fresh.children, (row) => row.id))
  for (const row of [...list.children]) if (!wanted.has(row.id)) row.remove()
  let at = list.firstElementChild
  for (const row of [...fresh.children]) {
    if (at && at.id === row.id) at = at.nextElementSibling
    else list.insertBefore(row, at)
  }
}

// A row is open or selected, has the focus, or is under the pointer of a reader; or the page is scrolled down.
const isInUse = (list) =>
  list.offsetParent !== null &&
  (list.querySelector('details[open], [aria-current]') !== null ||
    list.contains(document.activeElement) ||
    (document.hasFocus() && list.matches(':hover')) ||
    list.getBoundingClientRect().top < 0)

const newRows = (list, fresh) => Array.from(fresh.children).filter((row) => !document.getElementById(row.id)).length

const showNews = (count) => {
  if (count === 0) return news.replaceChildren()
  const button = news.firstElementChild ?? document.createElement('button')
  button.textContent = count === 1 ? '1 new: show' : count + ' new: show'
  if (button.parentElement) return
  button.type = 'button'
  button.addEventListener('click', () => {
    showNews(0)
    load(true)
  })
  news.append(button)
}

const takeOver = (next, isAsked) => {
  for (const place of document.querySelectorAll('[data-live]')) {
    const fresh = next.getElementById(place.id)
    if (!fresh) continue
    if ('rows' in place.dataset) {
      const waiting = isAsked || !isInUse(place) ? 0 : newRows(place, fresh)
      showNews(waiting)
      if (waiting > 0) continue
      mergeRows(place, fresh)
      if (isAsked) {
        place.parentElement.scrollTop = 0
        place.querySelector('a, summary')?.focus()
      }
    } else if (place.innerHTML !== fresh.innerHTML) {
      const focused = place.contains(document.activeElement) ? document.activeElement.id : ''
      place.replaceChildren(...fresh.childNodes)
      if (focused) document.getElementById(focused)?.focus()
    }
  }
}

const load = async (isWanted = false) => {
  isStale = true
  isAsked ||= isWanted
  if (isLoading) return
  isLoading = true
  while (isStale && !isPaused) {
    isStale = false
    const began = performance.now()
    try {
      const answer = await fetch(location.href)
      if (answer.ok) {
        takeOver(new DOMParser().parseFromString(await answer.text(), 'text/html'), isAsked)
        isAsked = false
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

document.addEventListener('keydown', (event) => {
  const search = document.getElementById('search')
  if (!search || event.key !== '/' || event.ctrlKey || event.metaKey || event.target.matches('input')) return
  event.preventDefault()
  search.focus()
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

for (const list of document.querySelectorAll('[data-rows]'))
  list.addEventListener('mouseleave', () => {
    if (news.firstElementChild) load()
  })

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
