/** Runs in the page: sends the calls of the forms to the page's own host, searches, and remembers the language of samples. */
export const script = `
const $ = (selector, within = document) => [...within.querySelectorAll(selector)]
const shownHeaders = ['x-request-id', 'ratelimit-remaining', 'retry-after', 'idempotent-replayed', 'allow']
const send = async (form) => {
  const { method, path, keyed } = form.dataset
  const headers = {}
  const query = new URLSearchParams()
  let url = path.slice(1)
  let body
  for (const field of $('[data-in]', form)) {
    const { name, value, dataset } = field
    if (dataset.in === 'path') url = url.replace('{' + name + '}', () => encodeURIComponent(value))
    else if (dataset.in === 'body') { body = value; headers['content-type'] = 'application/json' }
    else if (value !== '' && dataset.in === 'query') query.set(name, value)
    else if (value !== '') headers[name] = value
  }
  if (keyed !== undefined) headers.authorization = 'Bearer ' + key.value.trim()
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
  for (const form of $('.try form')) {
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
for (const form of $('.try form')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const shown = form.querySelector('[role=status]')
    shown.hidden = false
    shown.textContent = '…'
    shown.textContent = await send(form).catch((error) => 'No response: ' + error.message)
  })
}
for (const hidden of $('.key, .try, .search')) hidden.hidden = false

const choose = (language) => {
  for (const input of $('.samples input')) input.checked = input.value === language
  try { localStorage.setItem('svc-docs-language', language) } catch {}
}
document.addEventListener('change', ({ target }) => {
  if (!target.matches('.samples input')) return
  // Samples above the chosen one change their heights too: it stays where it is.
  const before = target.getBoundingClientRect().top
  choose(target.value)
  scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' })
})
try {
  const language = localStorage.getItem('svc-docs-language')
  if ($('.samples input').some(({ value }) => value === language)) choose(language)
} catch {}

for (const figure of $('figure.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const shown = $('pre', figure).find((pre) => pre.offsetParent)
    await navigator.clipboard.writeText(shown.textContent).then(() => 'Copied', () => 'Not copied').then((text) => { button.textContent = text })
    setTimeout(() => { button.textContent = 'Copy' }, 1500)
  })
  if (navigator.clipboard) figure.querySelector('figcaption').append(button)
}

const side = document.querySelector('.side')
const search = document.getElementById('search')
const found = document.getElementById('search-found')
const links = $('li a', side)
const menu = document.querySelector('.menu')
const fold = (isOpen) => {
  side.classList.toggle('open', isOpen)
  menu.setAttribute('aria-expanded', String(isOpen))
}
menu.addEventListener('click', () => fold(!side.classList.contains('open')))
side.addEventListener('click', ({ target }) => { if (target.closest('a')) fold(false) })
side.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || !side.classList.contains('open')) return
  fold(false)
  menu.focus()
})
const find = () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean)
  side.classList.toggle('searching', words.length > 0)
  const has = (text) => words.every((word) => text.toLowerCase().includes(word))
  const matches = links.filter((link) => {
    link.parentElement.hidden = !has(link.textContent + ' ' + (link.dataset.words ?? ''))
    return !link.parentElement.hidden
  })
  for (const group of $('.group', side)) group.hidden = words.length > 0 && !$('li:not([hidden])', group.nextElementSibling).length
  found.textContent = words.length === 0 ? '' : matches.length === 0 ? 'Nothing found' : matches.length + ' found'
  // Enter prefers a match in what is shown.
  return matches.find((link) => has(link.textContent)) ?? matches[0]
}
search.addEventListener('input', find)
search.addEventListener('keydown', (event) => {
  if (event.key === 'Enter') find()?.click()
  if (event.key === 'Escape') { search.value = ''; find(); search.blur() }
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.matches('input, textarea')) return
  event.preventDefault()
  fold(true)
  search.focus()
})

const byId = new Map($('a', side).map((link) => [link.hash.slice(1), link]))
const mark = (id) => {
  for (const link of $('[aria-current]', side)) link.removeAttribute('aria-current')
  const link = byId.get(id)
  if (!link) return
  link.setAttribute('aria-current', 'true')
  const { top, bottom } = link.getBoundingClientRect()
  if (getComputedStyle(side).position === 'sticky' && (top < 80 || bottom > innerHeight - 40)) side.scrollBy(0, top - innerHeight / 2)
}
const visible = new Set()
const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) visible[isIntersecting ? 'add' : 'delete'](target)
  const first = $('.operation, .part').filter((one) => visible.has(one)).at(-1)
  if (first) mark(first.id)
}, { rootMargin: '-10% 0px -85% 0px' })
for (const section of $('.operation, .part')) if (byId.has(section.id)) watch.observe(section)

// Colours of code without an element for each word.
const tokens = /(?<comment>(?<=^|\\s)(?:#|\\/\\/).*$)|(?<string>'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*")|(?<word>\\b(?:import|from|const|await|async|def|return|if|for|of|in|print|curl|true|false|null|True|False|None)\\b)|(?<number>\\b\\d+(?:\\.\\d+)?\\b)/gm
if (CSS.highlights) {
  const kinds = Object.fromEntries(['comment', 'string', 'word', 'number'].map((kind) => [kind, new Highlight()]))
  for (const { firstChild: text } of $('.code code'))
    for (const { index, 0: { length }, groups } of text.data.matchAll(tokens)) {
      const range = new StaticRange({ startContainer: text, startOffset: index, endContainer: text, endOffset: index + length })
      for (const [kind, found] of Object.entries(groups)) if (found !== undefined) kinds[kind].add(range)
    }
  for (const [kind, ranges] of Object.entries(kinds)) CSS.highlights.set(kind, ranges)
}
`
