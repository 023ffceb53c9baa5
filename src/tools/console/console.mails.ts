import type { Attachment, Email } from 'postal-mime'
import {
  attachmentBytes,
  attachmentName,
  caughtIds,
  detailOf,
  type MailDetail,
  type MailView,
  parseMail,
  readCaught,
  viewOf,
} from '../catcher/catcher.ts'
import { parseSearch, type Searched } from './console.search.ts'

/** A summary of an email for lists. It is cached, since parsing an email takes a millisecond. */
export interface MailDigest extends MailView {
  beginning: string
  attachments: number
  searched: Searched
}

export interface MailPage {
  mails: MailDigest[]
  /** The number of all emails, and of those that match the search. */
  total: number
  found: number
  /** The cursor of the next page. It is null on the last page. */
  next: string | null
}

export interface ShownMail extends MailDetail {
  raw: string
  headerLines: readonly (readonly [name: string, value: string])[]
  attachments: readonly { name: string; type: string; bytes: Buffer }[]
}

const beginningLength = 140
const searchLength = 20_000

const searchedOf = ({ at, from, to, subject }: MailView, text: string, attachments: number): Searched => {
  const fields = { from: from.toLowerCase(), to: to.toLowerCase(), subject: subject.toLowerCase() }
  return {
    at,
    text: `${Object.values(fields).join(' ')} ${text.slice(0, searchLength).toLowerCase()}`,
    fields: { ...fields, ...(attachments > 0 && { has: 'attachment' }) },
  }
}

const nameOfLine = (line: string): readonly [string, string] => {
  const at = line.indexOf(':')
  return [line.slice(0, at), line.slice(at + 1).trim()]
}

/** Reads the caught emails of a data folder for the pages. */
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
      searched: searchedOf(view, text, found.email.attachments.length),
    }
    digests.set(id, made)
    return made
  }

  const forgetGone = (ids: readonly string[]) => {
    const there = new Set(ids)
    for (const id of digests.keys()) if (!there.has(id)) digests.delete(id)
  }

  /** Returns the ids of the emails that match a search, newest first. Only a search reads all emails. */
  const find = async (search: string): Promise<string[]> => {
    const ids = caughtIds(dataDir).reverse()
    forgetGone(ids)
    const matches = parseSearch(search)
    if (!matches) return ids
    const all = await Promise.all(ids.map(digest))
    return all.flatMap((one) => (one && matches(one.searched) ? [one.id] : []))
  }

  return {
    /** Returns a text that changes whenever an email is added or removed. */
    state(): string {
      const ids = caughtIds(dataDir)
      return `${ids.length} ${ids.at(-1) ?? ''}`
    },

    find,

    /** Returns emails newest first, older than `before`. `search` as in `parseSearch`. */
    async list(limit: number, { search = '', before = '' } = {}): Promise<MailPage> {
      const total = caughtIds(dataDir).length
      const fitting = await find(search)
      const from = before ? fitting.findIndex((id) => id < before) : 0
      const shown = from < 0 ? [] : fitting.slice(from, from + limit)
      const mails = (await Promise.all(shown.map(digest))).filter((one) => one !== null)
      const isLast = from < 0 || from + limit >= fitting.length
      return { mails, total, found: fitting.length, next: isLast ? null : shown.at(-1)! }
    },

    /** Returns an email, or null if there is none of that id. */
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

const attachmentOf = (attachment: Attachment, nth: number) => ({
  name: attachmentName(attachment, nth),
  type: attachment.mimeType,
  bytes: attachmentBytes(attachment),
})

const loads = [
  /(?:src|background|srcset)\s*=\s*(?:["']\s*)?(https?:\/\/[^"'\s)>]+)/gi,
  /url\(\s*["']?(https?:\/\/[^"'\s)>]+)/gi,
]

/** Returns the origins, other than `allowed`, from which an email would load content. */
export const originsOfImages = (html: string, allowed: readonly string[]): string[] => {
  const urls = loads.flatMap((load) => Array.from(html.matchAll(load), ([, url]) => url!))
  const origins = urls.map((url) => (URL.canParse(url) ? new URL(url).origin : url))
  return [...new Set(origins)].filter((origin) => !allowed.includes(origin))
}

/** Returns the document of an email for a frame; its links open in a new tab. */
export const documentOf = ({ html }: Pick<Email, 'html'> | { html: string | null }): string => {
  const text = html ?? ''
  const base = '<base target="_blank">'
  const [begin] = /^\s*(?:<!doctype[^>]*>)?\s*(?:<html[^>]*>)?\s*(?:<head[^>]*>)?/i.exec(text)!
  return begin + base + text.slice(begin.length)
}
