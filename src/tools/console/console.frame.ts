import { atFirstUse } from '../../lib/at-first-use.ts'
import { type Html, type HtmlPart, html } from '../../pages/html.ts'
import type { MailSetting } from '../catcher/catcher.ts'
import type { Topic } from './console.feed.ts'
import { searchSyntax } from './console.search.ts'

export interface ConsoleView {
  status?: number
  title: string
  /** The current item of the navigation. */
  section: '/' | '/mail' | '/webhooks' | '/calls' | null
  /** The topics whose changes reload it. */
  topics: readonly Topic[]
  /** What the list is searched for; the navigation keeps it. */
  search?: string
  body: Html
}

/** The state that every page shows. */
export interface Surroundings {
  /** epoch ms */
  now: number
  /** How far the clock is ahead of the system's. */
  offsetMs: number
  /** The mode of the catcher. It is null if it catches no email. */
  mail: (MailSetting & { held: number }) | null
  /** The path of the page, to return to after a form. */
  path: string
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

export const consoleHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  // With `no-referrer` browsers would omit the Origin of forms, which identifies our own.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}

const sections = [
  ['/', 'All'],
  ['/mail', 'Email'],
  ['/webhooks', 'Webhooks'],
  ['/calls', 'API calls'],
] as const

/** Returns a URL of the console with the given parameters, without empty ones. */
export const urlWith = (path: string, parameters: Readonly<Record<string, string | undefined>>): string => {
  const given = Object.entries(parameters).filter(([, value]) => value)
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given as [string, string][])}`
}

const syntaxRow =
  (path: string) =>
  ([example, finds]: readonly [string, string]): Html =>
    html`<dt><a href="${urlWith(path, { q: example })}"><code>${example}</code></a></dt><dd>${finds}</dd>`

export const searchForm = (path: string, search: string): Html =>
  html`<form class="search" role="search" action="${path}">
<label class="unseen" for="search">Search address, subject, text</label>
<input id="search" name="q" type="search" value="${search}" placeholder="Address, subject, text">
<button>Search</button>
<button type="button" class="help" popovertarget="syntax" aria-label="How to search">?</button>
${search !== '' && html`<a href="${path}">Clear</a>`}
<div id="syntax" popover>
<h2>How to search</h2>
<p class="quiet">The key / goes to the search.</p>
<dl>${searchSyntax.map(syntaxRow(path))}</dl>
</div>
</form>`

const spans: readonly [ms: number, name: string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** Returns the two largest units of a duration: `1 d 2 h`. */
const spanText = (ms: number): string => {
  let left = Math.round(Math.abs(ms) / 1000) * 1000
  const parts = spans.flatMap(([size, name]) => {
    const count = Math.floor(left / size)
    left -= count * size
    return count > 0 ? [`${count} ${name}`] : []
  })
  return parts.slice(0, 2).join(' ') || '0 s'
}

const dayFormat = atFirstUse(
  () => new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' }),
)
const timeFormat = atFirstUse(
  () => new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
)

/** Returns the local time, with the day if it is not today. */
export const timeOf = (at: number, now: number): Html => {
  const [day, today] = [dayFormat().format(at), dayFormat().format(now)]
  const text = day === today ? timeFormat().format(at) : `${day} ${timeFormat().format(at).slice(0, 5)}`
  return html`<time datetime="${new Date(at).toISOString()}">${text}</time>`
}

/** Returns the hidden field of a form with the page to return to. */
export const backTo = (path: string): Html => html`<input type="hidden" name="back" value="${path}">`

const clockButton = (value: string, label: string): Html =>
  html`<button name="by" value="${value}" id="clock-${value}" form="clock-form">${label}</button>`

const clockBar = ({ now, offsetMs, path }: Surroundings): Html => {
  const isMoved = Math.abs(offsetMs) >= 1000
  return html`<section class="clock" aria-label="Clock">
<form id="clock-form" method="post" action="/clock">${backTo(path)}</form>
<p id="clock" data-live="clock">
<span class="now" data-now="${Math.round(now)}">${dayFormat().format(now)} ${timeFormat().format(now)}</span>
<span class="${isMoved ? 'pill warn' : 'quiet'}">${isMoved ? `${spanText(offsetMs)} ahead` : 'system time'}</span></p>
<p class="buttons">
${clockButton('1h', '+ 1 hour')}
${clockButton('1d', '+ 1 day')}
${clockButton('reset', 'Reset')}
</p>
</section>`
}

const modeSentences = {
  accept: '',
  refuse: 'Email is refused: sends end as failed.',
  defer: 'Email is deferred: a call ends as failed, queued emails are retried.',
  hang: 'Email is held without an answer: a call ends as pending after 10 s.',
}

const mailBanner = ({ mail, path }: Surroundings): HtmlPart => {
  if (!mail || (mail.mode === 'accept' && mail.held === 0)) return null
  const times = mail.times === null ? '' : ` The next ${mail.times} only.`
  const held = mail.held === 0 ? '' : ` ${mail.held} held now.`
  const sentence = modeSentences[mail.mode] || 'Email is accepted again, but what was held is still waiting.'
  return html`<form class="banner" method="post" action="/mail/mode" aria-label="What happens to email">
${backTo(path)}
<span>${sentence}${times}${held}</span>
<button name="mode" value="accept" id="banner-accept">Accept email again</button>
</form>`
}

export const consoleDocument = (view: ConsoleView, surroundings: Surroundings): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${view.title} · svc dev</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body data-topics="${view.topics.join(' ')}">
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="/">svc <b>dev</b></a>
<nav aria-label="Console">
<ul>
${sections.map(
  ([path, name]) =>
    html`<li><a href="${urlWith(path, { q: view.search })}"${view.section === path && html` aria-current="page"`}>${name}</a></li>
`,
)}</ul>
</nav>
${clockBar(surroundings)}
</header>
<p id="connection" role="status"></p>
<div id="banner" data-live="mail">${mailBanner(surroundings)}</div>
<main id="main">
${view.body}
</main>
<p id="news" role="status"></p>
</body>
</html>
`.text
