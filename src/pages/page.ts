import type { App } from '../store/work.ts'
import { type Html, html } from './html.ts'
import { style, styleHash } from './style.ts'

/** What a page shows. */
export interface PageView {
  status?: number
  title: string
  /** What stands in `<main>`, its heading included. */
  body: Html
}

export interface PageCall {
  readonly app: App
  readonly params: Readonly<Record<string, string>>
  /** What a form posts; empty for GET. A name that comes twice has its last value. */
  readonly form: Readonly<Record<string, string>>
}

/** A page as data: http/ adds headers, the frame around it and its failures. No key is asked: its token is the key. */
export interface Page {
  method: 'GET' | 'POST'
  /** From the root, such as `/u/:token`. */
  path: `/${string}`
  handle(call: PageCall): Promise<PageView>
}

/** A page that is not there: its token is unknown, changed or over. */
export const notFound: PageView = {
  status: 404,
  title: 'This link does not work',
  body: html`<h1>This link does not work</h1>
<p>It may have been cut off on its way, or it is no longer valid. Please try the link in your mail again.</p>`,
}

/** What every page says to the browser: nothing from elsewhere, in nobody's frame, in no cache and no index. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src ${styleHash}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
  'x-robots-tag': 'noindex',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** The whole document of a view. */
export const document = ({ title, body }: PageView): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${{ text: style }}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.text
