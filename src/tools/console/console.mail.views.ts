import { invocation } from '../../cli/next.ts'
import { type Html, html } from '../../pages/html.ts'
import { type MailMode, mailModes } from '../catcher/catcher.ts'
import { backTo, type ConsoleView, number, type Surroundings, timeOf } from './console.frame.ts'
import type { MailDigest, MailPage, ShownMail } from './console.mails.ts'

const attachmentCount = (count: number): Html =>
  html` <span class="pill">${count} ${count === 1 ? 'attachment' : 'attachments'}</span>`

export const mailRow = (mail: MailDigest, now: number, current = ''): Html =>
  html`<li id="${mail.id}">
<a href="/mail/${mail.id}"${mail.id === current && html` aria-current="true"`}>
<span class="subject">${mail.subject || '(no subject)'}</span>
${timeOf(mail.at, now)}
<span class="to">to ${mail.to}${mail.attachments > 0 && attachmentCount(mail.attachments)}</span>
<span class="beginning">${mail.beginning}</span>
</a>
</li>`

/** The empty state, with a command to try. */
export const noMail = html`<p>No email yet. Nothing leaves this machine: every email is caught here. Send the first one:</p>
<pre>${invocation()} send --project Welcome --to you@example.com</pre>`

const modeNames = { accept: 'Accept', refuse: 'Refuse (5xx)', defer: 'Defer (4xx)', hang: 'Hang' }

const modeButton = (mode: MailMode, isCurrent: boolean): Html =>
  html`<button
name="mode" value="${mode}" id="mode-${mode}" aria-pressed="${String(isCurrent)}"
>${modeNames[mode]}</button>`

const modeForm = ({ mail, path }: Surroundings): Html =>
  html`<form class="modes" method="post" action="/mail/mode">
${backTo(path)}
<fieldset>
<legend>What happens to new email</legend>
<span id="modes" data-live="mail">${mailModes.map((mode) => modeButton(mode, mode === mail?.mode))}</span>
</fieldset>
</form>`

const searchForm = (search: string): Html =>
  html`<form class="search" role="search" action="/mail">
<label class="unseen" for="search">Search subject, address, text</label>
<input id="search" name="q" type="search" value="${search}" placeholder="Subject, address, text">
<button>Search</button>
</form>`

const clearForm = (path: string, total: number): Html =>
  html`<form id="clear" method="post" action="/mail/clear" data-live="mail">
${backTo(path)}
${total > 0 && html`<button id="clear-button" class="danger">Clear all ${number.format(total)}</button>`}
</form>`

const countText = ({ total, found }: MailPage, search: string): string =>
  search ? `${number.format(found)} of ${number.format(total)} found` : `${number.format(total)} caught`

const olderLink = ({ next }: MailPage, search: string): Html => {
  const query = next && new URLSearchParams({ ...(search && { q: search }), before: next }).toString()
  return html`<p id="older" data-live="mail" class="foot">${query && html`<a href="/mail?${query}">Older</a>`}</p>`
}

const nothingFound = (search: string): Html =>
  html`<div class="empty">${search ? html`<p>No email matches “${search}”. <a href="/mail">All email</a></p>` : noMail}</div>`

export const mailsView = (page: MailPage, search: string, surroundings: Surroundings): ConsoleView => ({
  title: 'Email',
  section: '/mail',
  topics: ['mail', 'clock'],
  body: html`<div class="head">
<h1>Email</h1>
<p class="tools"><span id="count" role="status" data-live="mail">${countText(page, search)}</span></p>
</div>
<div class="bar">
${searchForm(search)}
${surroundings.mail && modeForm(surroundings)}
${clearForm('/mail', page.total)}
</div>
<div id="no-mail" data-live="mail">${page.found === 0 && nothingFound(search)}</div>
<ol id="mails" class="rows mails" data-live="mail" data-rows>${page.mails.map((mail) => mailRow(mail, surroundings.now))}</ol>
${olderLink(page, search)}`,
})

/** The views of an email. */
export const mailTabs = ['html', 'text', 'headers', 'source'] as const
type MailTab = (typeof mailTabs)[number]
const tabNames = { html: 'HTML', text: 'Text', headers: 'Headers', source: 'Source' }

interface MailLook {
  tab: MailTab
  /** Whether the frame is as wide as a phone. */
  isNarrow: boolean
  /** The origins of images that the console does not load. */
  blocked: readonly string[]
}

const blockedNote = (origins: readonly string[]): Html =>
  html`<p class="note">
Not loaded here: images from ${origins.join(', ')}. The console fetches nothing from other hosts.
</p>`

const htmlTab = ({ id, subject, html: document }: ShownMail, { isNarrow, blocked }: MailLook): Html => {
  if (document === null) return html`<p class="empty">This email has no HTML part.</p>`
  const width = (narrow: boolean, name: string) =>
    html`<a href="/mail/${id}${narrow && '?width=phone'}"${narrow === isNarrow && html` aria-current="true"`}>${name}</a>`
  return html`<p class="widths">${width(false, 'Wide')}${width(true, 'Phone')}</p>
${blocked.length > 0 && blockedNote(blocked)}
<iframe
class="${isNarrow ? 'phone' : 'wide'}" title="HTML of ${subject}"
src="/mail/${id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"
></iframe>`
}

const tabBody = (mail: ShownMail, look: MailLook): Html => {
  if (look.tab === 'html') return htmlTab(mail, look)
  if (look.tab === 'text')
    return mail.text === null ? html`<p class="empty">This email has no text part.</p>` : html`<pre>${mail.text}</pre>`
  if (look.tab === 'source')
    return html`<p class="note"><a href="/mail/${mail.id}/source">Download as .eml</a></p>
<pre>${mail.raw}</pre>`
  return html`<dl class="headers">${mail.headerLines.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

const sizeText = (bytes: number): string => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KiB`)

const attachmentList = ({ id, attachments }: ShownMail): Html =>
  html`<ul class="attachments" aria-label="Attachments">${attachments.map(
    ({ name, type, bytes }, nth) =>
      html`<li>
<a href="/mail/${id}/attachments/${nth}" download>${name}</a>
<span class="quiet">${type}, ${sizeText(bytes.length)}</span>
</li>`,
  )}</ul>`

const tabLink = (id: string, tab: MailTab, isCurrent: boolean): Html => {
  const url = `/mail/${id}${tab === 'html' ? '' : `?show=${tab}`}`
  return html`<li><a href="${url}"${isCurrent && html` aria-current="page"`}>${tabNames[tab]}</a></li>`
}

/** Returns the page of an email, with the newest emails beside it on wide screens. */
export const mailView = (mail: ShownMail, look: MailLook, page: MailPage, now: number): ConsoleView => ({
  title: mail.subject || '(no subject)',
  section: '/mail',
  topics: ['mail', 'clock'],
  body: html`<div class="beside">
<nav class="others" aria-label="Newest email">
<ol id="mails" class="rows mails" data-live="mail" data-rows>${page.mails.map((one) => mailRow(one, now, mail.id))}</ol>
</nav>
<article>
<p class="back"><a href="/mail">All email</a></p>
<h1>${mail.subject || '(no subject)'}</h1>
<dl class="facts">
<dt>From</dt>
<dd>${mail.headers.from ?? mail.from}</dd>
<dt>To</dt>
<dd>${mail.to}</dd>
<dt>Caught</dt>
<dd>${timeOf(mail.at, now)} <code>${mail.id}</code></dd>
</dl>
${mail.attachments.length > 0 && attachmentList(mail)}
<nav aria-label="Parts of the email">
<ul class="tabs">${mailTabs.map((tab) => tabLink(mail.id, tab, tab === look.tab))}</ul>
</nav>
${tabBody(mail, look)}
</article>
</div>`,
})
