import type { Brand } from '../accounts/accounts.ts'
import { escapeHtml } from '../lib/escape-html.ts'
import { imprintLines, mailColors } from './brand.ts'
import { frame } from './plain-mail.frame.ts'

/** An email with built-in text, used where no project is bound. */
export interface PlainMail {
  subject: string
  html: string
  text: string
}

/**
 * A paragraph, what the email is about as one block (a title, and lines such as date and time), or a link. `button` marks the
 * main action, of which an email has at most one.
 */
export type PlainPart =
  | string
  | { title: string; lines: readonly string[] }
  | { label: string; url: string; button?: true }

/** The account that an email is from. `publicUrl` is where its logo is. */
export interface MailBrand extends Brand {
  publicUrl: string
}

interface PlainOptions {
  /** What clients show beside the subject in the list of emails. */
  preheader: string
  /** The default is the subject. */
  heading?: string | undefined
  brand?: MailBrand | undefined
}

type Slots = Readonly<Record<string, string>>

/** Returns a piece of the frame with its slots filled; `values` are HTML. */
const filled = (piece: keyof typeof frame, values: Slots): string =>
  frame[piece].replace(/\{\{(\w+)\}\}/g, (_, name: string) => values[name]!)

const withBreaks = (text: string): string => text.split(/\r?\n/).map(escapeHtml).join('<br>')

const htmlOf = (part: PlainPart, colors: Slots): string => {
  if (typeof part === 'string') return filled('text', { text: withBreaks(part) })
  if ('lines' in part) {
    const lines = part.lines.map((line) => `<br>${escapeHtml(line)}`).join('')
    return filled('panel', { ...colors, title: escapeHtml(part.title), lines })
  }
  const link = { ...colors, url: escapeHtml(part.url), label: escapeHtml(part.label) }
  return filled(part.button ? 'button' : 'link', link)
}

const headerOf = ({ brandName, logo, logoSize, publicUrl }: MailBrand): string => {
  if (logo) {
    const [width, height] = logoSize ? shrunk(logoSize) : ['', String(maxLogo.height)]
    const image = filled('logo', {
      src: escapeHtml(`${publicUrl}${logo}`),
      alt: escapeHtml(brandName ?? ''),
      width,
      height,
    })
    return image.replace(' width=""', '')
  }
  return brandName ? filled('name', { name: escapeHtml(brandName) }) : ''
}

/** The largest logo in an email, in pixels. */
export const maxLogo = { width: 240, height: 48 }

/** Returns width and height of a logo in an email. Outlook needs both as attributes, and ignores a maximum. */
const shrunk = ({ width, height }: { width: number; height: number }): [width: string, height: string] => {
  const scale = Math.min(1, maxLogo.width / width, maxLogo.height / height)
  return [width, height].map((length) => String(Math.max(1, Math.round(length * scale)))) as [string, string]
}

const footerOf = (brand: Brand): string => {
  const { address, privacyUrl } = imprintLines(brand)
  const lines = address.map(escapeHtml)
  if (privacyUrl) lines.push(`<a href="${escapeHtml(privacyUrl)}" style="color:inherit">Privacy policy</a>`)
  return lines.length > 0 ? filled('imprint', { imprint: lines.join('<br>') }) : ''
}

const textOf = (part: PlainPart): string => {
  if (typeof part === 'string') return part
  return 'lines' in part ? [part.title, ...part.lines].join('\n') : `${part.label}: ${part.url}`
}

const footerTextOf = (brand: Brand): string => {
  const { address, privacyUrl } = imprintLines(brand)
  const lines = [...address, ...(privacyUrl ? [`Privacy policy: ${privacyUrl}`] : [])]
  return lines.length > 0 ? `\n-- \n${lines.join('\n')}\n` : ''
}

/**
 * Builds a plain email from its subject, parts and the account's brand, in a frame that MJML made of plain-mail.mjml.ts. All of
 * them are text: HTML in them is escaped.
 */
export const plainMail = (title: string, parts: readonly PlainPart[], options: PlainOptions): PlainMail => {
  const { preheader, brand } = options
  const subject = title.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  const heading = options.heading ?? subject
  const colors = mailColors(brand?.color ?? null)
  return {
    subject,
    html: [
      filled('begin', {
        ...colors,
        lang: escapeHtml(brand?.lang ?? 'en'),
        title: escapeHtml(subject),
        preheader: escapeHtml(preheader),
      }),
      brand ? headerOf(brand) : '',
      filled('heading', { heading: escapeHtml(heading) }),
      ...parts.map((part) => htmlOf(part, colors)),
      frame.end,
      brand ? footerOf(brand) : '',
      frame.finish,
    ].join(''),
    text: `${[heading, ...parts.map(textOf)].join('\n\n')}\n${brand ? footerTextOf(brand) : ''}`,
  }
}
