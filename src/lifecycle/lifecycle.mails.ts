import { html } from '../pages/html.ts'

/** A mail that no author has made. */
export interface PlainMail {
  subject: string
  html: string
  text: string
}

/** A paragraph, or a link with what it is called. */
export type PlainPart = string | { label: string; url: string }

const ground = 'margin:0;padding:24px;background:#f6f7f9;color:#1b1f24;font:16px/1.5 system-ui,sans-serif'
const card = 'max-width:34rem;margin:0 auto;padding:24px;background:#ffffff;border-radius:12px;overflow-wrap:anywhere'

/** A plain mail of its heading, which is the subject too, and its parts. What they hold is text, whatever stands in it. */
export const plainMail = (heading: string, parts: readonly PlainPart[]): PlainMail => {
  const subject = heading.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  const shown = parts.map((part) =>
    typeof part === 'string'
      ? html`<p>${part}</p>\n`
      : html`<p><a href="${part.url}" style="color:#1f4fbf">${part.label}</a></p>\n`,
  )
  return {
    subject,
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${subject}</title></head>
<body style="${ground}">
<div style="${card}">
<h1 style="margin:0 0 12px;font-size:22px;line-height:1.25">${subject}</h1>
${shown}</div>
</body>
</html>
`.text,
    text: `${[subject, ...parts.map((part) => (typeof part === 'string' ? part : `${part.label}: ${part.url}`))].join('\n\n')}\n`,
  }
}
