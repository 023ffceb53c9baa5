import { hour12Script } from '../../lib/hour12.ts'

/**
 * Script of the pages that show when a webinar is. It shows the time in the visitor's zone, if that differs, and in their clock, and a
 * countdown by the server's clock. A page that asks for it reloads every 20 s from the start on, until the session is live.
 */
export const timeScript = `
${hour12Script}
const time = document.getElementById('time')
if (time) {
  const byId = (id) => document.getElementById(id)
  const at = Date.parse(time.dateTime)
  const lang = time.dataset.lang || 'en-GB'
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const shown = (options) => new Intl.DateTimeFormat(lang, options)
  const dayIn = (timeZone) => shown({ dateStyle: 'full', timeZone }).format(at)
  const clock = hour12 ? { timeStyle: 'short', hourCycle: 'h12' } : { timeStyle: 'short' }
  const timesIn = (timeZone) => shown({ ...clock, timeZone }).formatRange(at, at + time.dataset.minutes * 60000)
  const [day, times] = [dayIn(zone), timesIn(zone)]
  if (dayIn(time.dataset.zone) !== day || timesIn(time.dataset.zone) !== times) {
    const local = byId('local')
    const line = document.createElement('span')
    line.className = 'day'
    line.textContent = day
    local.append(line, times + ', your time (' + zone.replaceAll('_', ' ') + ')')
    local.hidden = false
    if (dayIn(time.dataset.zone) === day) byId('day').remove()
    if (hour12) time.lastChild.textContent = timesIn(time.dataset.zone) + ' (' + time.dataset.zone + ')'
    byId('host').prepend('For the host: ')
    byId('host').className = 'quiet'
    byId('month').textContent = shown({ month: 'short' }).format(at)
    byId('date').textContent = shown({ day: 'numeric' }).format(at)
  } else if (hour12) time.lastChild.textContent = times + ' (' + time.dataset.zone + ')'
  const count = byId('count')
  if (count) {
    const ahead = Number(count.dataset.now) - Date.now()
    const twoDigits = (n) => n.toLocaleString(lang, { minimumIntegerDigits: 2 })
    let last = ''
    const tick = () => {
      const left = Math.ceil((at - Date.now() - ahead) / 1000)
      const days = Math.floor(left / 86400)
      const clock = [Math.floor(left / 3600) % 24, Math.floor(left / 60) % 60, left % 60].map(twoDigits).join(':')
      const text = left <= 0 ? 'Any moment now' : (days > 0 ? days.toLocaleString(lang) + (days === 1 ? ' day ' : ' days ') : '') + clock
      if (text !== last) count.textContent = last = text
      byId('count-label').hidden = left <= 0
      byId('countdown').hidden = false
      if (left > 0) setTimeout(tick, 1000)
      else if ('reloads' in count.dataset) setTimeout(() => location.reload(), 20000)
    }
    tick()
  }
}
`
