import { createHash } from 'node:crypto'
import type { App } from '../store/work.ts'
import { type Html, html } from './html.ts'
import { style } from './style.ts'

/** What a page shows. */
export interface PageView {
  status?: number
  title: string
  /** What stands in `<main>`, its heading included. */
  body: Html
  /** Added to the style of every page; for colours of an author's choice. */
  style?: string
  /** Runs once the page is there, and may call this host alone. The page works without it. */
  script?: string
  headers?: Readonly<Record<string, string>>
}

/** Sends the browser on: by 303 after a form was posted, so that a reload posts nothing again, else by 302. */
export interface Redirect {
  redirect: string
}

/** What is no page: an image, a calendar entry, JSON. */
export interface File {
  /** Its media type. */
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
  /** A page that answers GET answers HEAD too. */
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of the client: its socket's, or what a trusted proxy says (`SVC_TRUST_PROXY`). */
  readonly address: string
  /** What a form posts; empty for GET. A name that comes twice has its last value. */
  readonly form: Readonly<Record<string, string>>
  /** What was posted as JSON, where the page `takes` it; else undefined. */
  readonly json: unknown
  /** The body as it came, where the page `takes` it so. */
  readonly raw: Buffer
}

/** A page as data: http/ adds headers, the frame around it and its failures. No key is asked: its token is the key. */
export interface Page {
  method: 'GET' | 'POST' | 'OPTIONS'
  /** From the root, such as `/u/:token`. */
  path: `/${string}`
  /** What it can be posted beside a browser's form. Who posts so is a program: its failures are `{ "error": … }`, no pages. */
  takes?: 'json' | 'raw'
  /** Other sites may show it, and its failures, in a frame. */
  isFramed?: boolean
  /** Whether a path is this page's at all, where its first part is a name that somebody chose; left out: every one. */
  isAt?(params: Readonly<Record<string, string>>): boolean
  handle(call: PageCall): Promise<PageAnswer>
}

/** A page that is not there: its token is unknown, changed or over. */
export const notFound: PageView = {
  status: 404,
  title: 'This link does not work',
  body: html`<h1>This link does not work</h1>
<p>It may have been cut off on its way, or it is no longer valid. Please try the link in your mail again.</p>`,
}

/** What everything that is shown to the public says: in no cache and no index. */
const publicHeaders: Readonly<Record<string, string>> = {
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
}

/** What a Content-Security-Policy calls an inline text by: nothing but it is allowed. */
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const styleHash = hashOf(style)

const policy = (view: PageView, isFramed: boolean): string =>
  [
    "default-src 'none'",
    `style-src ${styleHash}${view.style ? ` ${hashOf(view.style)}` : ''}`,
    ...(view.script ? [`script-src ${hashOf(view.script)}`, "connect-src 'self'"] : []),
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    isFramed ? 'frame-ancestors *' : "frame-ancestors 'none'",
  ].join('; ')

/** The headers of a page: nothing from elsewhere, and in nobody's frame unless it says so. */
export const pageHeaders = (view: PageView, isFramed = false): Record<string, string> => ({
  ...publicHeaders,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policy(view, isFramed),
  ...(!isFramed && { 'x-frame-options': 'DENY' }),
  ...view.headers,
})

export const fileHeaders = ({ type, headers }: File): Record<string, string> => ({
  ...publicHeaders,
  'content-type': type,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  ...headers,
})

/** The whole document of a view. */
export const document = (view: PageView): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${view.title}</title>
<style>${{ text: style }}</style>
${
  view.style &&
  html`<style>${{ text: view.style }}</style>
`
}</head>
<body>
<main>
${view.body}
</main>
${
  view.script &&
  html`<script>${{ text: view.script }}</script>
`
}</body>
</html>
`.text
