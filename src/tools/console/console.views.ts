import { timeOfId } from '../../lib/ids.ts'
import { number } from '../../lib/quantity.ts'
import { type Html, type HtmlPart, html } from '../../pages/html.ts'
import type { Calls, Deliveries, Shown, ShownCall } from './console.feed.ts'
import { type ConsoleView, searchForm, timeOf } from './console.frame.ts'
import { mailUrl, noMail } from './console.mail.views.ts'
import type { MailDigest, MailPage } from './console.mails.ts'
import { parseSearch } from './console.search.ts'

const shownLimit = 200

const pretty = ({ body, truncated }: Shown): string => {
  if (truncated) return `${body}\n… (cut)`
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

/** Rendered rows. Their ids contain the time as well as the number, since each start of the console counts from 1. */
const drawn = new WeakMap<object, Html>()

const deliveryRow = (delivery: Shown, now: number): Html =>
  drawn.getOrInsertComputed(delivery, () => {
    const { seq, at, type, id, subject, status, verified, verdict } = delivery
    return html`<li id="d${at}-${seq}">
<details>
<summary class="row">
<span class="kind webhook">Webhook</span>
<span class="what"><span class="type">${type || '?'}</span>
<span class="about">${subject}</span>
<span class="id">${id || '?'}</span></span>
<span class="end"><span class="mark ${verified ? 'good' : 'bad'}">${verified ? '✓ verified' : `✗ ${verdict}`}</span>
<span class="status">${status}</span>
${timeOf(at, now)}</span>
</summary>
<pre>${pretty(delivery)}</pre>
</details>
</li>`
  })

const callLine = ({ at, method, path, query, status, ms, requestId }: ShownCall, now: number): Html =>
  html`<span class="kind call">${method}</span>
<span class="what"><span class="path">${path}<span class="query">${query}</span></span>
<span class="id">${requestId}</span></span>
<span class="end"><span class="code ${status < 400 ? 'good' : 'bad'}">${status}</span>
<span class="ms">${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms</span>
${timeOf(at, now)}</span>`

const bodyOf = (name: string, text: string | null): HtmlPart =>
  text !== null && html`<h2>${name}</h2><pre>${text}</pre>`

const callRow = (call: ShownCall, now: number): Html =>
  drawn.getOrInsertComputed(call, () => {
    const { at, seq, sent, received } = call
    const line = callLine(call, now)
    if (sent === null && received === null) return html`<li id="c${at}-${seq}"><div class="row">${line}</div></li>`
    return html`<li id="c${at}-${seq}">
<details>
<summary class="row">${line}</summary>
<div class="bodies">
<div>${bodyOf('Request', sent)}</div>
<div>${bodyOf('Response', received)}</div>
</div>
</details>
</li>`
  })

const mailLine = (mail: MailDigest, now: number, search: string): Html =>
  html`<li id="${mail.id}">
<a class="row" href="${mailUrl(mail.id, { search })}">
<span class="kind email">Email</span>
<span class="what"><span class="subject">${mail.subject || '(no subject)'}</span>
<span class="about">to ${mail.to}</span></span>
<span class="end">${timeOf(mail.at, now)}</span>
</a>
</li>`

const count = (n: number, one: string, many: string): string => `${number(n)} ${n === 1 ? one : many}`

const deliveryCount = (total: number, notVerified: number): string =>
  `${count(total, 'delivery', 'deliveries')}, ${number(notVerified)} not verified`

const list = (id: string, topic: string, rows: readonly Html[], kind = ''): Html =>
  html`<ol id="${id}" class="rows ${kind}" data-live="${topic}" data-rows>${rows}</ol>`

const nothing = (search: string, path: string, otherwise: HtmlPart): Html =>
  html`<div class="empty">${search ? html`<p>Nothing matches “${search}”. <a href="${path}">Show all</a></p>` : otherwise}</div>`

const noDeliveries = html`<p>Nothing has arrived yet. Change a contact, and its event appears here.</p>`
const noCalls = html`<p>No requests yet. API calls appear here with their bodies, without keys, secrets and tokens.</p>`

interface ListPage {
  title: string
  path: '/' | '/webhooks' | '/calls'
  topics: ConsoleView['topics']
  search: string
  count: string
  /** How the list ends, such as how many rows it keeps. */
  foot: HtmlPart
  rows: readonly Html[]
  /** What is shown without rows and search. */
  empty: HtmlPart
  list: { id: string; kind?: string }
}

const listView = ({
  title,
  path,
  topics,
  search,
  count,
  foot,
  rows,
  empty,
  list: { id, kind },
}: ListPage): ConsoleView => ({
  title,
  section: path,
  topics: [...topics, 'clock'],
  search,
  body: html`<div class="head">
<h1>${title}</h1>
<p class="tools"><span id="count" role="status" data-live="${topics.join(' ')}">${count}</span>
<button id="pause" type="button" aria-pressed="false" hidden>Pause</button></p>
</div>
${searchForm(path, search)}
<div id="nothing" data-live="${topics.join(' ')}">${rows.length === 0 && nothing(search, path, empty)}</div>
${list(id, topics.join(' '), rows, kind)}
<p class="foot">${foot}</p>`,
})

const rowText = (...texts: (string | number | null)[]): string => texts.join(' ').toLowerCase()

const findDeliveries = (deliveries: readonly Shown[], search: string): readonly Shown[] => {
  const matches = parseSearch(search)
  if (!matches) return deliveries
  return deliveries.filter(({ at, type, id, subject, body, status, verified }) =>
    matches({
      at,
      text: rowText(type, id, subject, body),
      fields: { type: type.toLowerCase(), status: String(status), ...(!verified && { is: 'failed' }) },
    }),
  )
}

const findCalls = (calls: readonly ShownCall[], search: string): readonly ShownCall[] => {
  const matches = parseSearch(search)
  if (!matches) return calls
  return calls.filter(({ at, method, path, query, status, requestId, sent, received }) =>
    matches({
      at,
      text: rowText(method, `${path}${query}`, status, requestId, sent, received),
      fields: {
        method: method.toLowerCase(),
        path: path.toLowerCase(),
        status: String(status),
        ...(status >= 400 && { is: 'failed' }),
      },
    }),
  )
}

const foundOf = (search: string, found: number, kept: number, all: string): string =>
  search ? `${number(found)} of ${number(kept)} found` : all

export const webhooksView = (deliveries: Deliveries, search: string, now: number): ConsoleView => {
  const { total, notVerified, deliveries: kept } = deliveries.newest()
  const found = findDeliveries(kept, search)
  return listView({
    title: 'Webhook receiver',
    path: '/webhooks',
    topics: ['deliveries', 'mail'],
    search,
    count: foundOf(search, found.length, kept.length, deliveryCount(total, notVerified)),
    foot: html`The newest ${shownLimit} are kept, until svc dev stops. As JSON: <a href="/deliveries">/deliveries</a>`,
    rows: found.map((one) => deliveryRow(one, now)),
    empty: noDeliveries,
    list: { id: 'deliveries', kind: 'of-webhooks' },
  })
}

export const callsView = (calls: Calls, search: string, now: number): ConsoleView => {
  const { total, calls: kept } = calls.newest()
  const found = findCalls(kept, search)
  return listView({
    title: 'API calls',
    path: '/calls',
    topics: ['calls', 'mail'],
    search,
    count: foundOf(search, found.length, kept.length, count(total, 'request', 'requests')),
    foot: html`The newest ${shownLimit} are kept, in memory only. Keys, secrets and tokens are masked, long bodies cut.`,
    rows: found.map((one) => callRow(one, now)),
    empty: noCalls,
    list: { id: 'calls' },
  })
}

/** The number of rows of the page that shows everything. */
export const activityRows = 100

/** Everything in the order of its arrival, so that what a call caused is beside it. */
export const activityView = (
  mail: MailPage,
  deliveries: Deliveries,
  calls: Calls,
  search: string,
  now: number,
): ConsoleView => {
  const webhooks = deliveries.newest()
  const requests = calls.newest()
  const items = [
    ...mail.mails.map((one) => ({ arrived: timeOfId(one.id), row: () => mailLine(one, now, search) })),
    ...findDeliveries(webhooks.deliveries, search).map((one) => ({ ...one, row: () => deliveryRow(one, now) })),
    ...findCalls(requests.calls, search).map((one) => ({ ...one, row: () => callRow(one, now) })),
  ]
  const shown = items.sort((a, b) => b.arrived - a.arrived).slice(0, activityRows)
  return listView({
    title: 'Activity',
    path: '/',
    topics: ['mail', 'deliveries', 'calls'],
    search,
    count: search
      ? `${number(mail.found + items.length - mail.mails.length)} found`
      : [
          count(mail.total, 'email', 'emails'),
          count(webhooks.total, 'webhook', 'webhooks'),
          count(requests.total, 'API call', 'API calls'),
        ].join(' · '),
    foot: html`The newest ${activityRows} of all kinds.`,
    rows: shown.map(({ row }) => row()),
    empty: noMail,
    list: { id: 'activity' },
  })
}

export const noPage = (sentence: string, status = 404): ConsoleView => ({
  status,
  title: sentence,
  section: null,
  topics: ['clock'],
  body: html`<h1>${sentence}</h1>
<p><a href="/">Back to the activity</a></p>`,
})
