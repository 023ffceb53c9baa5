/**
 * The page of the local webhook receiver. It loads nothing from elsewhere, and everything that a delivery holds is put in as
 * text: deliveries come from whoever can post.
 */
export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Webhook receiver · svc dev</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header>
<h1>Webhook receiver</h1>
<p><span id="count" role="status">Connecting…</span> <button id="pause" type="button" aria-pressed="false">Pause</button></p>
</header>
<main>
<p id="empty" hidden>Nothing has arrived yet. Change a contact, and its event shows up here.</p>
<ol id="deliveries"></ol>
<noscript><p>This page needs JavaScript. The same as JSON: <a href="/deliveries">/deliveries</a></p></noscript>
</main>
</body>
</html>
`

export const pageCss = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1c2330, #e4e8ef);
  --soft: light-dark(#5b6575, #9aa5b8);
  --line: light-dark(#dde2ea, #2c3442);
  --paper: light-dark(#ffffff, #12161d);
  --well: light-dark(#f4f6f9, #1a2029);
  --good: light-dark(#11703a, #5fd08b);
  --bad: light-dark(#b3261e, #ff8a80);
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; justify-content: space-between; }
h1 { margin: 0; font-size: 1.25rem; }
header p { margin: 0; color: var(--soft); }
button { margin-inline-start: .5rem; padding: .25rem .75rem; border: 1px solid var(--line); border-radius: .375rem; background: var(--well); color: var(--ink); font: inherit; }
ol { margin: 1rem 0 0; padding: 0; list-style: none; border-block-start: 1px solid var(--line); }
li { border-block-end: 1px solid var(--line); }
summary { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: baseline; padding: .5rem .25rem; cursor: pointer; }
summary:hover { background: var(--well); }
:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
.type { font-weight: 600; min-width: 11rem; }
.id, pre { font-family: ui-monospace, monospace; font-size: .875rem; }
.id { flex: 1 1 18rem; color: var(--soft); overflow-wrap: anywhere; }
time, .status { color: var(--soft); font-variant-numeric: tabular-nums; }
.mark { min-width: 7rem; }
.good { color: var(--good); }
.bad { color: var(--bad); }
pre { margin: 0 0 .75rem; padding: .75rem; border-radius: .375rem; background: var(--well); white-space: pre-wrap; overflow-wrap: anywhere; }
`

export const pageScript = `
const list = document.getElementById('deliveries')
const count = document.getElementById('count')
const pause = document.getElementById('pause')
const empty = document.getElementById('empty')
const limit = 200
let held = null

const element = (name, className, text) => {
  const made = document.createElement(name)
  made.className = className
  made.textContent = text
  return made
}

const pretty = ({ body, truncated }) => {
  if (truncated) return body + '\\n… (cut)'
  try { return JSON.stringify(JSON.parse(body), null, 2) } catch { return body }
}

const row = (delivery) => {
  const { at, type, id, status, verdict } = delivery
  const item = document.createElement('li')
  const details = document.createElement('details')
  const summary = document.createElement('summary')
  const time = element('time', '', new Date(at).toLocaleTimeString())
  time.dateTime = new Date(at).toISOString()
  const verified = verdict === 'ok'
  const mark = element('span', 'mark ' + (verified ? 'good' : 'bad'), verified ? '✓ verified' : '✗ ' + verdict)
  summary.append(element('span', 'type', type || '?'), element('span', 'id', id || '?'), mark, element('span', 'status', status), time)
  details.append(summary)
  // Made when it is looked at: thousands may pass by that nobody opens.
  details.addEventListener('toggle', () => details.append(element('pre', '', pretty(delivery))), { once: true })
  item.append(details)
  return item
}

const number = new Intl.NumberFormat('en-US')
const show = ({ total, notVerified, deliveries }) => {
  const rows = deliveries.slice(-limit).reverse().map(row)
  list.prepend(...rows)
  while (list.childElementCount > limit) list.lastElementChild.remove()
  empty.hidden = total > 0
  count.textContent = number.format(total) + (total === 1 ? ' delivery, ' : ' deliveries, ') + number.format(notVerified) + ' not verified' +
    (total > limit ? ' (the last ' + limit + ' are shown)' : '')
}

const source = new EventSource('/stream')
// A connection begins with all that is kept: after a restart of the server nothing stands here twice.
source.addEventListener('reset', () => {
  if (held) held = []
  list.replaceChildren()
})
source.addEventListener('deliveries', ({ data }) => {
  const batch = JSON.parse(data)
  if (held) held = [...held, batch].slice(-limit)
  else show(batch)
})
source.addEventListener('error', () => {
  count.textContent = 'Not connected: svc dev has stopped. Trying again…'
})

pause.addEventListener('click', () => {
  const batches = held
  held = batches ? null : []
  pause.setAttribute('aria-pressed', String(!batches))
  pause.textContent = batches ? 'Pause' : 'Go on'
  for (const batch of batches ?? []) show(batch)
})
`
