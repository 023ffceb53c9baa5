import { type Html, html } from './html.ts'

/** An email with built-in text, used where no project is bound. */
export interface PlainMail {
  subject: string
  html: string
  text: string
}

/** A paragraph, or a link with its label. `button` marks the main action. */
export type PlainPart = string | { label: string; url: string; button?: true }

const ground = 'margin:0;padding:24px;background:#f6f7f9;color:#1b1f24;font:16px/1.5 system-ui,sans-serif'
const card = 'max-width:34rem;margin:0 auto;padding:24px;background:#ffffff;border-radius:12px;overflow-wrap:anywhere'
const button =
  'display:inline-block;padding:10px 18px;border-radius:8px;background:#1f4fbf;color:#ffffff;font-weight:600;text-decoration:none'

/** For dark mode. Clients that drop the style sheet use the inline styles. */
const dark = `@media (prefers-color-scheme: dark) {
.ground { background: #101418 !important; color: #e6e9ed !important }
.card { background: #1a2027 !important }
.link { color: #8fb4ff !important }
.button { background: #8fb4ff !important; color: #0c1526 !important }
}`

const htmlOf = (part: PlainPart): Html => {
  if (typeof part === 'string') return html`<p>${part.split('\n').map((line, i) => [i > 0 && html`<br>`, line])}</p>\n`
  const { label, url } = part
  return part.button
    ? html`<p><a class="button" href="${url}" style="${button}">${label}</a></p>\n`
    : html`<p><a class="link" href="${url}" style="color:#1f4fbf">${label}</a></p>\n`
}

const textOf = (part: PlainPart): string => (typeof part === 'string' ? part : `${part.label}: ${part.url}`)

/**
 * Builds a plain email from its subject, heading (default: the subject) and parts. All of them are text: HTML in them is escaped.
 */
export const plainMail = (title: string, parts: readonly PlainPart[], heading?: string): PlainMail => {
  const subject = title.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  return {
    subject,
    html: html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${{ text: dark }}</style>
</head>
<body class="ground" style="${ground}">
<div class="card" role="main" style="${card}">
<h1 style="margin:0 0 12px;font-size:22px;line-height:1.25">${heading ?? subject}</h1>
${parts.map(htmlOf)}</div>
</body>
</html>
`.text,
    text: `${[heading ?? subject, ...parts.map(textOf)].join('\n\n')}\n`,
  }
}
