import { type Html, type HtmlPart, html } from '../../pages/html.ts'
import type { Calls, Deliveries, Shown, ShownCall } from './console.feed.ts'
import { type ConsoleView, number, timeOf } from './console.frame.ts'
import { mailRow, noMail } from './console.mail.views.ts'
import type { MailPage } from './console.mails.ts'

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
const drawn = new WeakMap<Shown, Html>()

const deliveryRow = (delivery: Shown, now: number): Html =>
  drawn.getOrInsertComputed(delivery, () => {
    const { seq, at, type, id, status, verified, verdict } = delivery
    return html`<li id="d${at}-${seq}">
<details>
<summary>
<span class="type">${type || '?'}</span>
<span class="id">${id || '?'}</span>
<span class="mark ${verified ? 'good' : 'bad'}">${verified ? '✓ verified' : `✗ ${verdict}`}</span>
<span class="status">${status}</span>
${timeOf(at, now)}
</summary>
<pre>${pretty(delivery)}</pre>
</details>
</li>`
  })

const callRow = ({ seq, at, method, path, status, ms, requestId }: ShownCall, now: number): Html =>
  html`<li id="c${at}-${seq}">
<span class="method">${method}</span>
<span class="path">${path}</span>
<span class="code ${status < 400 ? 'good' : 'bad'}">${status}</span>
<span class="ms">${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms</span>
<span class="id">${requestId}</span>
${timeOf(at, now)}
</li>`

const deliveryCount = (total: number, notVerified: number, shown: number): string =>
  `${number.format(total)}${total === 1 ? ' delivery, ' : ' deliveries, '}${number.format(notVerified)} not verified${
    total > shown && shown === shownLimit ? ` (the last ${shownLimit} are shown)` : ''
  }`

const callCount = (total: number): string => `${number.format(total)} ${total === 1 ? 'request' : 'requests'}`

const deliveryList = (deliveries: readonly Shown[], now: number): Html =>
  html`<ol id="deliveries" class="rows" data-live="deliveries" data-rows>${deliveries.map((one) => deliveryRow(one, now))}</ol>`

const callList = (calls: readonly ShownCall[], now: number): Html =>
  html`<ol id="calls" class="rows calls" data-live="calls" data-rows>${calls.map((call) => callRow(call, now))}</ol>`

const empty = (id: string, topic: string, isEmpty: boolean, ...body: HtmlPart[]): Html =>
  html`<div id="${id}" data-live="${topic}">${isEmpty && html`<div class="empty">${body}</div>`}</div>`

const noDeliveries = html`<p>Nothing has arrived yet. Change a contact, and its event appears here.</p>`
const noCalls = html`<p>No requests yet. API calls and page views appear here, without body, key or query.</p>`
const pauseButton = html`<button id="pause" type="button" aria-pressed="false" hidden>Pause</button>`

/** Returns the heading of a list, with the number of its rows and the button that stops updates. */
const listHead = (title: string, topic: string, count: string): Html =>
  html`<div class="head">
<h1>${title}</h1>
<p class="tools">
<span id="count" role="status" data-live="${topic}">${count}</span>${pauseButton}
</p>
</div>`

export const webhooksView = (deliveries: Deliveries, now: number): ConsoleView => {
  const { total, notVerified, deliveries: rows } = deliveries.newest()
  return {
    title: 'Webhook receiver',
    section: '/webhooks',
    topics: ['deliveries', 'mail', 'clock'],
    body: html`${listHead('Webhook receiver', 'deliveries', deliveryCount(total, notVerified, rows.length))}
${empty('no-deliveries', 'deliveries', total === 0, noDeliveries)}
${deliveryList(rows, now)}
<p class="foot">As JSON: <a href="/deliveries">/deliveries</a></p>`,
  }
}

export const callsView = (calls: Calls, now: number): ConsoleView => {
  const { total, calls: rows } = calls.newest()
  return {
    title: 'API calls',
    section: '/calls',
    topics: ['calls', 'mail', 'clock'],
    body: html`${listHead('API calls', 'calls', callCount(total))}
${empty('no-calls', 'calls', total === 0, noCalls)}
${callList(rows, now)}`,
  }
}

const panel = (path: string, name: string, topic: string, count: string, body: HtmlPart): Html =>
  html`<section class="panel" aria-labelledby="panel-${topic}">
<div class="head">
<h2 id="panel-${topic}"><a href="${path}">${name}</a></h2>
<p class="tools" id="count-${topic}" data-live="${topic}">${count}</p>
</div>
${body}
</section>`

/** The number of rows of each list on the overview. */
export const overviewRows = 8

export const overviewView = (mail: MailPage, deliveries: Deliveries, calls: Calls, now: number): ConsoleView => {
  const webhooks = deliveries.newest(overviewRows)
  const requests = calls.newest(overviewRows)
  return {
    title: 'Overview',
    section: '/',
    topics: ['mail', 'deliveries', 'calls', 'clock'],
    body: html`<h1 class="unseen">Overview of svc dev</h1>
<div class="panels">
${panel(
  '/mail',
  'Email',
  'mail',
  `${number.format(mail.total)} caught`,
  html`${empty('no-mail', 'mail', mail.total === 0, noMail)}
<ol id="mails" class="rows mails" data-live="mail" data-rows>${mail.mails.map((one) => mailRow(one, now))}</ol>`,
)}
${panel(
  '/webhooks',
  'Webhooks',
  'deliveries',
  deliveryCount(webhooks.total, webhooks.notVerified, 0),
  html`${empty('no-deliveries', 'deliveries', webhooks.total === 0, noDeliveries)}
${deliveryList(webhooks.deliveries, now)}`,
)}
${panel(
  '/calls',
  'API calls',
  'calls',
  callCount(requests.total),
  html`${empty('no-calls', 'calls', requests.total === 0, noCalls)}
${callList(requests.calls, now)}`,
)}
</div>`,
  }
}

export const noPage = (sentence: string, status = 404): ConsoleView => ({
  status,
  title: sentence,
  section: null,
  topics: ['clock'],
  body: html`<h1>${sentence}</h1>
<p><a href="/">Back to the overview</a></p>`,
})
