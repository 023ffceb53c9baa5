/*
 * Hosted pages as data. html.ts and style.ts are for pages, plain-mail.ts for emails without an author (MJML compiles
 * their frame: plain-mail.mjml.ts, `npm run mails`), brand.ts for what both show of an account.
 */

import { hash } from 'node:crypto'
import type { Brand } from '../accounts/accounts.ts'
import type { TokenPurpose } from '../lib/token.ts'
import type { App } from '../store/work.ts'
import { brandFooter, brandHeader, brandStyle } from './brand.ts'
import { type Html, type HtmlPart, html } from './html.ts'
import { style } from './style.ts'

export { formStyle } from './style.ts'

export interface PageView {
  status?: number
  title: string
  /** The account whose brand it shows, if the page has no token: a token names its account. */
  accountId?: string
  /** The language of the author's content. The default is that of the account, or English. */
  lang?: string
  /** The content of `<main>`, including the heading. */
  body: Html
  /** Added to the common style, for example for an author's colours. */
  style?: string
  /** Runs after the page has loaded and can call only this host. The page works without it. */
  script?: string
  /** The only other host that it loads from: the origin of a frame or of a media file. */
  loads?: { kind: 'frame' | 'media'; origin: string }
  /** Its forms can be answered with a redirect to another host, such as a payment provider. */
  formsLeave?: boolean
  headers?: Readonly<Record<string, string>>
  /** What messengers show of a link to it, beside the title. `image` is a URL. */
  preview?: { description: string; image: string | null }
}

/** Redirects the browser: with 303 after a POST, so that a reload does not post again, else with 302. */
interface Redirect {
  redirect: string
}

/** An answer that is not a page: an image, a calendar entry, JSON. */
export interface File {
  type: string
  content: string | Buffer
  status?: number
  headers?: Readonly<Record<string, string>>
}

export type PageAnswer = PageView | Redirect | File

export const json = (status: number, content: unknown, headers: Readonly<Record<string, string>> = {}): File => ({
  type: 'application/json; charset=utf-8',
  content: JSON.stringify(content),
  status,
  headers,
})

export interface PageCall {
  readonly app: App
  /** HEAD runs the handler for GET. */
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  /** What its token names, which was verified. It is empty for a page without a token. */
  readonly subject: readonly string[]
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The client's address: the socket's, or the one that a trusted proxy reports (`SVC_TRUST_PROXY`). */
  readonly address: string
  /** The posted form. It is empty for GET. A repeated field has its last value. */
  readonly form: Readonly<Record<string, string>>
  /** The posted JSON if the page `takes` it, else undefined. */
  readonly json: unknown
  /** The unparsed body. */
  readonly raw: Buffer
}

/** Declares a page. http/ adds headers, the frame and failures. It needs no API key: its token authorises the request. */
export interface Page {
  method: 'GET' | 'POST' | 'OPTIONS'
  /** The path from the root, such as `/u/:token`. */
  path: `/${string}`
  /** The purpose of the `:token` in its path. An invalid or expired token is a 404 before the body is read. */
  token?: TokenPurpose
  /**
   * Another type of body that it accepts besides forms. It comes from programs, so its failures are `{ "error": … }` instead of
   * pages.
   */
  takes?: 'json' | 'raw'
  /** Its form can have `largeForm` bytes. The page itself refuses more than its fields need. */
  isLarge?: boolean
  /** Other sites can show it and its failures in a frame. */
  isFramed?: boolean
  /**
   * How its writes are limited (docs/reference/limits.md#rate-limits). The default is by the client's address and the `:token` in
   * its path. `self` is for a page that calls `requirePublicWrite` itself. `signed` is for one without a limit, because each call
   * is signed with a secret.
   */
  limited?: 'self' | 'signed'
  /** The name of the form's field that has its token, if its path has none. */
  tokenField?: string
  /** Whether a path belongs to this page, if its first segment is a name that users choose. Without it, it always does. */
  isAt?(params: Readonly<Record<string, string>>): boolean
  /** Returns headers of failures for programs, such as those of CORS, without which scripts of other sites can't read them. */
  failureHeaders?(app: App, call: Pick<PageCall, 'params' | 'headers'>): Promise<Record<string, string>>
  /** Returns the account whose brand the failures of a page without a token show, or null for none. */
  accountOf?(app: App, params: Readonly<Record<string, string>>): Promise<string | null>
  handle(call: PageCall): Promise<PageAnswer>
}

/** Returns the path that browsers request: `SVC_PUBLIC_URL` can have a path of its own, which a proxy removes. */
export const ownPath = ({ config }: Pick<App, 'config'>, path: string): string =>
  `${new URL(config.publicUrl).pathname.replace(/\/$/, '')}${path}`

/** The maximum sizes of forms: the default, and that of forms with long fields. */
export const [smallForm, largeForm] = [64 * 1024, 512 * 1024]

/** A browser encodes a UTF-16 unit in at most 9 bytes. */
const bytesPerUnit = 9

/** Returns the maximum size of a form with these input lengths (in characters), at most `largeForm`. */
export const formBytes = (maxLengths: readonly number[]): number =>
  Math.min(
    largeForm,
    maxLengths.reduce((sum, length) => sum + bytesPerUnit * length, smallForm),
  )

const failureStyle = `
.code { margin: 0 0 .5rem; color: var(--link); font-size: 2.75rem; font-weight: 700; line-height: 1; letter-spacing: -.03em }
`

/** Returns the page of a failure: its status, what happened, and what the visitor can do. */
export const failurePage = (status: number, title: string, advice: HtmlPart): PageView => ({
  status,
  title,
  style: failureStyle,
  body: html`<p class="code">${status}</p>
<h1>${title}</h1>
<p>${advice}</p>`,
})

/** Stands above the heading of a page that says that something succeeded. */
export const successMark: Html = html`<p class="success" aria-hidden="true">✓</p>\n`

export const tooLarge: PageView = failurePage(413, 'Your answer is too large', 'Please go back and shorten it.')

/** Answers an unknown, changed or expired token. */
export const notFoundPage: PageView = failurePage(
  404,
  'This link does not work',
  'It may be incomplete, or it is no longer valid. Please open the link from your email again.',
)

/** Answers a path that no page has. */
export const noPage: PageView = failurePage(
  404,
  'There is no such page',
  'The address may be incomplete or misspelt. Please open the link again where you found it.',
)

/** Answers a method that a page does not have. */
export const wrongMethod: PageView = failurePage(
  405,
  'This page can’t do that',
  'Please open the link again where you found it.',
)

/** Headers of every public answer: not cached, not indexed. */
const publicHeaders: Readonly<Record<string, string>> = {
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
}

/** Returns the source expression by which a Content-Security-Policy allows one inline text. */
const hashOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`

const styleHash = hashOf(style)

const policy = (view: PageView, isFramed: boolean, styles: readonly string[]): string =>
  [
    "default-src 'none'",
    `style-src ${[styleHash, ...styles.map(hashOf)].join(' ')}`,
    ...(view.script ? [`script-src ${hashOf(view.script)}`, "connect-src 'self'"] : []),
    "img-src 'self'",
    ...(view.loads ? [`${view.loads.kind}-src ${view.loads.origin}`] : []),
    // Browsers check redirect targets against form-action too, and a provider can have any host.
    view.formsLeave ? 'form-action *' : "form-action 'self'",
    "base-uri 'none'",
    isFramed ? 'frame-ancestors *' : "frame-ancestors 'none'",
  ].join('; ')

/** Returns the styles that follow the common one. */
const ownStyles = (view: PageView, brand: Brand | null): string[] =>
  [brandStyle(brand), view.style ?? ''].filter(Boolean)

/** Returns the headers of a page: nothing from other hosts but what it `loads`, and not in a frame unless `isFramed`. */
export const pageHeaders = (view: PageView, isFramed = false, brand: Brand | null = null): Record<string, string> => ({
  ...publicHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(view, isFramed, ownStyles(view, brand)),
  ...(!isFramed && { 'x-frame-options': 'DENY' }),
  ...view.headers,
})

export const fileHeaders = ({ type, headers }: File): Record<string, string> => ({
  ...publicHeaders,
  'content-type': type,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...headers,
})

const previewTags = (title: string, { description, image }: NonNullable<PageView['preview']>): Html => {
  const tags = Object.entries({ title, description, image })
  return html`${tags.map(([name, content]) => content && html`<meta property="og:${name}" content="${content}">\n`)}`
}

/** Renders the whole document. `base` is the path of the public URL, for the brand's logo. */
export const document = (view: PageView, brand: Brand | null = null, base = ''): string =>
  html`<!doctype html>
<html lang="${view.lang ?? brand?.lang ?? 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${view.title}</title>
${view.preview && previewTags(view.title, view.preview)}<style>${{ text: style }}</style>
${ownStyles(view, brand).map(
  (own) => html`<style>${{ text: own }}</style>
`,
)}</head>
<body>
<main>
${brand && brandHeader(brand, base)}${view.body}
</main>
${brand && brandFooter(brand)}${
  view.script &&
  html`<script>${{ text: view.script }}</script>
`
}</body>
</html>
`.text
