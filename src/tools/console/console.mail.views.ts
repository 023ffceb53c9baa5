import { invocation } from '../../cli/next.ts'
import { number, quantity } from '../../lib/quantity.ts'
import { type Html, type HtmlPart, html } from '../../pages/html.ts'
import { keptMails, type MailMode, mailModes } from '../catcher/catcher.ts'
import { backTo, type ConsoleView, type Surroundings, searchForm, timeOf, urlWith } from './console.frame.ts'
import { isCheckable, isFaulty, type MailLink } from './console.links.ts'
import type { MailDigest, MailPage, ShownMail } from './console.mails.ts'
import { maskText } from './console.shown.ts'

const attachmentCount = (count: number): Html =>
  html` <span class="pill">${count} ${count === 1 ? 'attachment' : 'attachments'}</span>`

/** Returns the URL of an email; the list beside it keeps the search. */
export const mailUrl = (
  id: string,
  { tab = 'html', width = 'full', search = '' }: { tab?: MailTab; width?: MailWidth; search?: string } = {},
): string =>
  urlWith(`/mail/${id}`, {
    show: tab === 'html' ? '' : tab,
    width: width === 'full' ? '' : width,
    q: search,
  })

const mailRow = (mail: MailDigest, now: number, search: string, current: string): Html =>
  html`<li id="${mail.id}">
<a href="${mailUrl(mail.id, { search })}"${mail.id === current && html` aria-current="true"`}>
<span class="subject">${mail.subject || '(no subject)'}</span>
${timeOf(mail.at, now)}
<span class="to">to ${mail.to}${mail.attachments > 0 && attachmentCount(mail.attachments)}</span>
<span class="beginning">${mail.beginning}</span>
</a>
</li>`

const mailList = ({ mails }: MailPage, now: number, search: string, current = ''): Html =>
  html`<ol id="mails" class="rows mails" data-live="mail" data-rows>
${mails.map((one) => mailRow(one, now, search, current))}</ol>`

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

const clearForm = (path: string, { total, found }: MailPage, search: string): Html => {
  const label = search ? `Delete the ${number(found)} found` : `Clear all ${number(total)}`
  return html`<form id="clear" method="post" action="/mail/clear" data-live="mail">
${backTo(path)}${search && html`<input type="hidden" name="q" value="${search}">`}
${found > 0 && html`<button id="clear-button" class="danger">${label}</button>`}
</form>`
}

const countText = ({ total, found }: MailPage, search: string): string =>
  search ? `${number(found)} of ${number(total)} found` : `${number(total)} caught`

const olderLink = ({ next }: MailPage, search: string): Html => {
  return html`<p id="older" data-live="mail" class="foot">${
    next && html`<a href="${urlWith('/mail', { q: search, before: next })}">Older</a>`
  }</p>`
}

const nothingFound = (search: string): Html =>
  html`<div class="empty">${search ? html`<p>No email matches “${search}”. <a href="/mail">All email</a></p>` : noMail}</div>`

export const mailsView = (page: MailPage, search: string, surroundings: Surroundings): ConsoleView => ({
  title: 'Email',
  section: '/mail',
  topics: ['mail', 'clock'],
  search,
  body: html`<div class="head">
<h1>Email</h1>
<p class="tools"><span id="count" role="status" data-live="mail">${countText(page, search)}</span>
<button id="pause" type="button" aria-pressed="false" hidden>Pause</button></p>
</div>
<div class="bar">
${searchForm('/mail', search)}
${surroundings.mail && modeForm(surroundings)}
${clearForm('/mail', page, search)}
</div>
<div id="no-mail" data-live="mail">${page.found === 0 && nothingFound(search)}</div>
${mailList(page, surroundings.now, search)}
${olderLink(page, search)}
<p class="foot">The newest ${number(keptMails)} emails are kept, in the data folder; older ones are deleted.</p>`,
})

/** The views of an email. */
export const mailTabs = ['html', 'text', 'links', 'check', 'headers', 'source'] as const
type MailTab = (typeof mailTabs)[number]
const tabNames = { html: 'HTML', text: 'Text', links: 'Links', check: 'Check', headers: 'Headers', source: 'Source' }

/** How wide the frame of an email can be, in px; `full`: as wide as the page. */
const frameWidths = { full: null, tablet: 768, phone: 375 }
type MailWidth = keyof typeof frameWidths
export const mailWidths = Object.keys(frameWidths) as MailWidth[]
const widthNames = { full: 'Full width', tablet: 'Tablet, 768 px', phone: 'Phone, 375 px' }

interface MailLook {
  tab: MailTab
  width: MailWidth
  /** The origins of images that the console does not load. */
  blocked: readonly string[]
  links: readonly MailLink[]
  /** The rules of mail programs that the HTML breaks. */
  broken: readonly string[]
  /** The statuses of the links that were checked. */
  checked: ReadonlyMap<string, number | null>
  search: string
}

const blockedNote = (origins: readonly string[]): Html =>
  html`<p class="note">
Not loaded here: images from ${origins.join(', ')}. The console fetches nothing from other hosts.
</p>`

const htmlTab = ({ id, subject, html: document }: ShownMail, { width, blocked, search }: MailLook): Html => {
  if (document === null) return html`<p class="empty">This email has no HTML part.</p>`
  const link = (one: MailWidth) =>
    html`<a href="${mailUrl(id, { width: one, search })}"${one === width && html` aria-current="true"`}>${widthNames[one]}</a>`
  const px = frameWidths[width]
  return html`<p class="widths">${mailWidths.map(link)}</p>
${blocked.length > 0 && blockedNote(blocked)}
<div class="frame"${px && html` tabindex="0" role="group" aria-label="${px} px wide"`}><iframe
class="${width}" title="HTML of ${subject}"
src="/mail/${id}/html" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer"
></iframe></div>`
}

const linkKinds = {
  own: 'page of svc',
  tracked: 'page of svc, counts clicks',
  hidden: 'hidden, finds scanners',
  here: 'this machine',
  other: 'other host, not called',
  address: 'address',
  inside: 'in this email',
  empty: 'leads nowhere',
  sample: 'placeholder',
}

const linkStatus = (link: MailLink, checked: MailLook['checked']): HtmlPart => {
  if (!checked.has(link.url)) return null
  const status = checked.get(link.url)!
  if (status === null) return html`<span class="bad">no answer</span>`
  return html`<span class="${status < 400 ? 'good' : 'bad'}">${status}</span>`
}

const linkRow = (link: MailLink, checked: MailLook['checked']): Html =>
  html`<li class="row">
<span class="kind ${isFaulty(link) && 'warn'}">${linkKinds[link.kind]}</span>
<span class="what"><span class="subject">${link.text || '(no text)'}</span>
<code>${maskText(link.url) || '(no address)'}</code></span>
<span class="end">${linkStatus(link, checked)}</span>
</li>`

const linksTab = ({ id }: ShownMail, { links, checked, search }: MailLook): Html => {
  if (links.length === 0) return html`<p class="empty">This email has no links.</p>`
  const faulty = links.filter(isFaulty).length
  const sentence = `${number(faulty)} of ${quantity(links.length, 'link')} to fix.`
  return html`<form class="check" method="post" action="/mail/links">
${backTo(mailUrl(id, { tab: 'links', search }))}
<p>${sentence} The console calls no other host, and no link that counts clicks.</p>
${links.some(isCheckable) && html`<button name="id" value="${id}">Check the links to this machine</button>`}
</form>
<ol class="rows links">${links.map((link) => linkRow(link, checked))}</ol>`
}

const maxRule = 240

const checkTab = ({ html: document }: ShownMail, { broken }: MailLook): Html => {
  if (document === null) return html`<p class="empty">This email has no HTML part.</p>`
  if (broken.length === 0)
    return html`<p class="empty">Outlook on Windows and Gmail show this email as it is meant, by the tables of caniemail.com.</p>`
  return html`<p class="note">
What Outlook on Windows and Gmail ignore, remove or need, by the tables of caniemail.com. Its names are in brackets.
</p>
<ul class="rows checks">${broken.map((rule) => html`<li>${maskText(rule.slice(0, maxRule))}</li>`)}</ul>`
}

const tabBody = (mail: ShownMail, look: MailLook): Html => {
  if (look.tab === 'html') return htmlTab(mail, look)
  if (look.tab === 'links') return linksTab(mail, look)
  if (look.tab === 'check') return checkTab(mail, look)
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

const tabLink = (id: string, tab: MailTab, { tab: current, links, broken, search }: MailLook): Html => {
  const pill = (shown: number, isWarning: boolean) =>
    shown > 0 && html` <span class="pill ${isWarning && 'warn'}">${shown}</span>`
  const counts: Partial<Record<MailTab, Html | false>> = {
    links: pill(links.length, links.some(isFaulty)),
    check: pill(broken.length, true),
  }
  const count = counts[tab]
  const isCurrent = tab === current
  return html`<li>
<a href="${mailUrl(id, { tab, search })}"${isCurrent && html` aria-current="page"`}>${tabNames[tab]}${count}</a>
</li>`
}

/** Returns the page of an email, with the newest emails beside it on wide screens. */
export const mailView = (mail: ShownMail, look: MailLook, page: MailPage, now: number): ConsoleView => ({
  title: mail.subject || '(no subject)',
  section: '/mail',
  topics: ['mail', 'clock'],
  search: look.search,
  body: html`<div class="beside">
<nav class="others" aria-label="Newest email">
${mailList(page, now, look.search, mail.id)}
</nav>
<article>
<p class="back"><a href="${urlWith('/mail', { q: look.search })}">All email</a></p>
<div class="head"><h1>${mail.subject || '(no subject)'}</h1>
<form method="post" action="/mail/delete">${backTo('/mail')}
<button class="danger" name="id" value="${mail.id}">Delete</button></form></div>
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
<ul class="tabs">${mailTabs.map((tab) => tabLink(mail.id, tab, look))}</ul>
</nav>
${tabBody(mail, look)}
</article>
</div>`,
})
