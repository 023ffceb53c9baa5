/**
 * Script of the join page. It shows the start in the visitor's time zone and a countdown by the server's clock. From the start on
 * it reloads the page every 20 s until the session is live.
 */
export const joinScript = `
const time = document.getElementById('time')
if (time) {
  const at = Date.parse(time.dateTime)
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const local = document.getElementById('local')
  const lang = time.dataset.lang || 'en-GB'
  const format = new Intl.DateTimeFormat(lang, { dateStyle: 'full', timeStyle: 'short' })
  local.textContent = 'For you (' + zone + '): ' + format.format(at)
  local.hidden = false
  const count = document.getElementById('count')
  if (count) {
    const ahead = Number(count.dataset.now) - Date.now()
    const twoDigits = (n) => n.toLocaleString(lang, { minimumIntegerDigits: 2 })
    let shown = ''
    const tick = () => {
      const left = Math.ceil((at - Date.now() - ahead) / 1000)
      const days = Math.floor(left / 86400)
      const clock = [Math.floor(left / 3600) % 24, Math.floor(left / 60) % 60, left % 60].map(twoDigits).join(':')
      const text = left <= 0 ? 'Any moment now' : (days > 0 ? days.toLocaleString(lang) + (days === 1 ? ' day ' : ' days ') : '') + clock
      if (text !== shown) count.textContent = shown = text
      count.hidden = false
      if (left <= 0) setTimeout(() => location.reload(), 20000)
      else setTimeout(tick, 1000)
    }
    tick()
  }
}
`

/**
 * Script of the join page that reports every 60 s that it is open, and reloads it when the state of the session changes. The first report
 * of many pages, which all reload at the start, is spread over 5 s.
 */
export const presenceScript = `
const presence = document.getElementById('presence')
if (presence) {
  const { url, status } = presence.dataset
  const report = async () => {
    const answer = await fetch(url, { method: 'POST' }).catch(() => null)
    if (answer && answer.ok && (await answer.json()).status !== status) location.reload()
    if (answer && answer.status === 404) clearInterval(timer)
  }
  const timer = setInterval(report, 60000)
  setTimeout(report, Math.random() * 5000)
}
`
