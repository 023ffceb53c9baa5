import type { Attachment, Email } from 'postal-mime'
import type { MailView } from '../dev.mail.read.ts'
import { attachmentBytes, attachmentName, detailOf, type MailDetail, parseMail, viewOf } from '../dev.mail.read.ts'
import { caughtIds, readCaught } from '../dev.mail.ts'

/** What a list needs of a mail; kept, since reading a mail costs a millisecond. */
export interface MailDigest extends MailView {
  /** How the text begins. */
  beginning: string
  attachments: number
  /** In lower case: addresses, subject and text. */
  sought: string
}

export interface MailPage {
  mails: MailDigest[]
  /** How many there are, and how many fit the search. */
  total: number
  found: number
  /** Where the next page begins; null where this is the last. */
  next: string | null
}

export interface ShownMail extends MailDetail {
  raw: string
  headerLines: readonly (readonly [name: string, value: string])[]
  attachments: readonly { name: string; type: string; bytes: Buffer }[]
}

const beginningLength = 140
const soughtLength = 20_000

const nameOfLine = (line: string): readonly [string, string] => {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).trim()]
}

/** What the catcher of a data folder caught, as pages show it. */
export const openMails = (dataDir: string) => {
  const digests = new Map<string, MailDigest>()

  const read = async (id: string) => {
    const mail = /^msg_[0-9a-z]+$/.test(id) ? readCaught(dataDir, id) : null
    return mail && { mail, email: await parseMail(mail) }
  }

  const digest = async (id: string): Promise<MailDigest | null> => {
    const known = digests.get(id)
    if (known) return known
    const found = await read(id)
    if (!found) return null
    const view = viewOf(found.mail, found.email)
    const text = (found.email.text ?? '').replace(/\s+/g, ' ').trim()
    const made: MailDigest = {
      ...view,
      beginning: text.length > beginningLength ? `${text.slice(0, beginningLength)}…` : text,
      attachments: found.email.attachments.length,
      sought: `${view.from} ${view.to} ${view.subject} ${text.slice(0, soughtLength)}`.toLowerCase(),
    }
    digests.set(id, made)
    return made
  }

  const forgetGone = (ids: readonly string[]) => {
    const there = new Set(ids)
    for (const id of digests.keys()) if (!there.has(id)) digests.delete(id)
  }

  return {
    /** Where the folder stands: another text when a mail came or went. */
    state(): string {
      const ids = caughtIds(dataDir)
      return `${ids.length} ${ids.at(-1) ?? ''}`
    },

    /** Newest first, from `before` on; `search` is looked for in addresses, subject and text. */
    async list(limit: number, { search = '', before = '' } = {}): Promise<MailPage> {
      const ids = caughtIds(dataDir).reverse()
      forgetGone(ids)
      const wanted = search.trim().toLowerCase()
      // Only a search reads them all.
      const all = wanted ? (await Promise.all(ids.map(digest))).filter((one) => one?.sought.includes(wanted)) : null
      const fitting = all ? all.map((one) => one!.id) : ids
      const from = before ? fitting.findIndex((id) => id < before) : 0
      const shown = from < 0 ? [] : fitting.slice(from, from + limit)
      const mails = (await Promise.all(shown.map(digest))).filter((one) => one !== null)
      const isLast = from < 0 || from + limit >= fitting.length
      return { mails, total: ids.length, found: fitting.length, next: isLast ? null : shown.at(-1)! }
    },

    /** null where there is none of that id (any more). */
    async show(id: string): Promise<ShownMail | null> {
      const found = await read(id)
      if (!found) return null
      const { mail, email } = found
      return {
        ...detailOf(mail, email),
        raw: mail.raw,
        headerLines: email.headerLines.map(({ line }) => nameOfLine(line)),
        attachments: email.attachments.map(attachmentOf),
      }
    },
  }
}
export type Mails = ReturnType<typeof openMails>

const attachmentOf = (attachment: Attachment, nth: number) => ({
  name: attachmentName(attachment, nth),
  type: attachment.mimeType,
  bytes: attachmentBytes(attachment),
})

/** The places, other than `allowed`, that a mail would load something from. */
export const originsOfImages = (html: string, allowed: readonly string[]): string[] => {
  const found = html.matchAll(/(?:\b(?:src|background|srcset)\s*=\s*["']?\s*|url\(\s*["']?)(https?:\/\/[^"'\s)>]+)/gi)
  const origins = [...found].map(([, url]) => (URL.canParse(url!) ? new URL(url!).origin : url!))
  return [...new Set(origins)].filter((origin) => !allowed.includes(origin))
}

/** The document of a mail, for a frame: its links open in a tab of their own. */
export const documentOf = ({ html }: Pick<Email, 'html'> | { html: string | null }): string => {
  const text = html ?? ''
  const base = '<base target="_blank">'
  const [begin] = /^\s*(?:<!doctype[^>]*>)?\s*(?:<html[^>]*>)?\s*(?:<head[^>]*>)?/i.exec(text)!
  return begin + base + text.slice(begin.length)
}
