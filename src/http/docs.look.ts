export const style = `
main { max-width: 60rem; margin-top: 0 }
h2 { margin: 2rem 0 .5rem; font-size: 1.2rem } h3 { margin: 1rem 0 .25rem; font-size: 1rem }
code, pre, textarea { font: .875rem/1.5 ui-monospace, monospace } code { font-weight: 600 }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; margin: 0; list-style: none } nav a { display: inline-block; padding: .25rem 0 }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: 0 .75rem } details[open] { padding-bottom: .75rem }
summary { padding: .65rem 0; cursor: pointer } summary span { display: block; color: var(--quiet) }
.method { display: inline-block; min-width: 4rem; color: var(--act) }
.fields { margin: 0; padding-left: 1rem } .fields li { margin: .25rem 0 }
label { display: block; font-weight: 600 } label .quiet { font-weight: 400 }
input, textarea { width: 100%; padding: .5rem; border: 1px solid var(--quiet); border-radius: .5rem; background: var(--ground); color: var(--ink) } input { font: inherit; min-height: 2.75rem }
.key span, .key strong { display: block } .try { border-top: 1px solid var(--line); margin-top: 1rem }
pre { margin: .75rem 0 0; padding: .75rem; max-height: 24rem; overflow: auto; white-space: pre-wrap; background: var(--ground); border: 1px solid var(--line); border-radius: .5rem }
[hidden] { display: none }
`

/** Sends the calls of the forms to the page's own host, relative to the page's path. */
export const script = `
const shownHeaders = ['x-request-id', 'ratelimit-remaining', 'retry-after', 'idempotent-replayed', 'allow']
const send = async (form) => {
  const { method, path, keyed } = form.dataset
  const headers = {}
  const query = new URLSearchParams()
  let url = path.slice(1)
  let body
  for (const field of form.querySelectorAll('[data-in]')) {
    const { name, value, dataset } = field
    if (dataset.in === 'path') url = url.replace('{' + name + '}', () => encodeURIComponent(value))
    else if (dataset.in === 'body') { body = value; headers['content-type'] = 'application/json' }
    else if (value !== '' && dataset.in === 'query') query.set(name, value)
    else if (value !== '') headers[name] = value
  }
  if (keyed !== undefined) headers.authorization = 'Bearer ' + document.getElementById('key').value.trim()
  const began = performance.now()
  const answer = await fetch(url + (query.size > 0 ? '?' + query : ''), { method: method.toUpperCase(), headers, body, credentials: 'omit' })
  const text = await answer.text()
  const ms = Math.round(performance.now() - began)
  const lines = shownHeaders.filter((name) => answer.headers.has(name)).map((name) => name + ': ' + answer.headers.get(name))
  let shown = text
  try { shown = JSON.stringify(JSON.parse(text), null, 2) } catch {}
  return [answer.status + ' in ' + ms + ' ms', ...lines, '', shown].join('\\n')
}
const key = document.getElementById('key')
const state = document.getElementById('key-state')
// Puts ids of the key's account into the examples. Input that was typed stays.
const fill = async () => {
  const headers = { authorization: 'Bearer ' + key.value.trim() }
  const first = async (path, noun) => {
    const answer = await fetch('api/v1/' + path, { headers, credentials: 'omit' })
    return [answer.status, answer.ok ? (await answer.json())[noun][0]?.id : undefined]
  }
  state.textContent = '…'
  const [status, listId] = await first('lists', 'lists')
  if (status !== 200) {
    state.textContent = status === 401 ? 'This key is not valid.' : 'The key could not be checked (' + status + ').'
    return
  }
  const [, journeyId] = await first('journeys?trigger=api', 'journeys')
  for (const form of document.querySelectorAll('form.try')) {
    const place = form.querySelector('[data-in=path][name=id]')
    if (place && journeyId && form.dataset.path.startsWith('/api/v1/journeys/') && place.value === place.defaultValue)
      place.value = place.defaultValue = journeyId
    const body = form.querySelector('[data-in=body]')
    if (!body || !listId || body.value !== body.defaultValue || !body.value.includes('"listId"')) continue
    body.value = body.defaultValue = JSON.stringify({ ...JSON.parse(body.value), listId }, null, 2)
  }
  state.textContent = 'This key is valid. The examples use ids of its account where there are any.'
}
let asked
key.addEventListener('input', () => {
  const value = key.value.trim()
  if (!/^svc_live_\\w{20,}$/.test(value) || value === asked) return
  asked = value
  fill().catch((error) => { state.textContent = 'No response: ' + error.message })
})
for (const form of document.querySelectorAll('form.try')) {
  form.hidden = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const shown = form.querySelector('[role=status]')
    shown.hidden = false
    shown.textContent = '…'
    shown.textContent = await send(form).catch((error) => 'No response: ' + error.message)
  })
}
document.querySelector('.key').hidden = false
const open = () => {
  const found = location.hash && document.getElementById(location.hash.slice(1))
  if (found && found.tagName === 'DETAILS') found.open = true
}
addEventListener('hashchange', open)
open()
`
