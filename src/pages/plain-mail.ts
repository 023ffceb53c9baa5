import type { Brand } from '../accounts/accounts.ts'
import { type BrandColors, brandColors, mailFooter, mailFooterText, mailHeader } from './brand.ts'
import { type Html, html } from './html.ts'

/** An email with built-in text, used where no project is bound. */
export interface PlainMail {
  subject: string
  html: string
  text: string
}

/** A paragraph, or a link with its label. `button` marks the main action. */
export type PlainPart = string | { label: string; url: string; button?: true }

/** The account that an email is from. `publicUrl` is where its logo is. */
export interface MailBrand extends Brand {
  publicUrl: string
}

const ground = 'margin:0;padding:24px;background:#f6f7f9;color:#1b1f24;font:16px/1.5 system-ui,sans-serif'
const card = 'max-width:34rem;margin:0 auto;padding:24px;background:#ffffff;border-radius:12px;overflow-wrap:anywhere'

const buttonShape = 'display:inline-block;padding:10px 18px;border-radius:8px'

const plainColors = {
  light: { act: '#1f4fbf', onAct: '#ffffff', link: '#1f4fbf' },
  dark: { act: '#8fb4ff', onAct: '#0c1526', link: '#8fb4ff' },
}

/** Returns the rules for dark mode. Clients that drop the style sheet use the inline styles. */
const dark = ({ act, onAct, link }: BrandColors, footer: string): string => `@media (prefers-color-scheme: dark) {
.ground { background: #101418 !important; color: #e6e9ed !important }
.card { background: #1a2027 !important }
.link { color: ${link} !important }
.button { background: ${act} !important; color: ${onAct} !important }${
  footer && '\n.imprint { color: #a5adb8 !important }'
}
}`

const htmlOf = (part: PlainPart, { act, onAct, link }: BrandColors): Html => {
  if (typeof part === 'string') return html`<p>${part.split('\n').map((line, i) => [i > 0 && html`<br>`, line])}</p>\n`
  const { label, url } = part
  const button = `${buttonShape};background:${act};color:${onAct};font-weight:600;text-decoration:none`
  return part.button
    ? html`<p><a class="button" href="${url}" style="${button}">${label}</a></p>\n`
    : html`<p><a class="link" href="${url}" style="color:${link}">${label}</a></p>\n`
}

const textOf = (part: PlainPart): string => (typeof part === 'string' ? part : `${part.label}: ${part.url}`)

interface PlainOptions {
  /** Default: the subject. */
  heading?: string | undefined
  brand?: MailBrand | undefined
}

/**
 * Builds a plain email from its subject, parts and the account's brand. All of them are text: HTML in them is escaped.
 */
export const plainMail = (title: string, parts: readonly PlainPart[], options: PlainOptions = {}): PlainMail => {
  const { heading, brand } = options
  const subject = title.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  const colors = (scheme: 'light' | 'dark') => (brand?.color ? brandColors(brand.color, scheme) : plainColors[scheme])
  const light = colors('light')
  const header = brand ? mailHeader(brand, brand.publicUrl) : html``
  const footer = brand ? mailFooter(brand) : html``
  return {
    subject,
    html: html`<!doctype html>
<html lang="${brand?.lang ?? 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${{ text: dark(colors('dark'), footer.text) }}</style>
</head>
<body class="ground" style="${ground}">
<div class="card" role="main" style="${card}">
${header}<h1 style="margin:0 0 12px;font-size:22px;line-height:1.25">${heading ?? subject}</h1>
${parts.map((part) => htmlOf(part, light))}</div>
${footer}</body>
</html>
`.text,
    text: `${[heading ?? subject, ...parts.map(textOf)].join('\n\n')}\n${brand ? mailFooterText(brand) : ''}`,
  }
}
