import type { Attachment, Email } from 'postal-mime'

/** A caught email: a file in the mail folder, named by its id. Ids sort by time. */
export interface CaughtMail {
  id: string
  from: string
  to: string[]
  /** epoch ms */
  at: number
  raw: string
}

/** A caught email in lists; `at` in epoch ms. */
export interface MailView {
  id: string
  from: string
  to: string
  subject: string
  at: number
}

export interface MailDetail extends MailView {
  headers: Record<string, string>
  html: string | null
  text: string | null
  /** The attached iCalendar text. */
  calendar: string | null
}

export const parseMail = async ({ raw }: CaughtMail): Promise<Email> => (await import('postal-mime')).default.parse(raw)

export const viewOf = ({ id, from, to, at }: CaughtMail, { subject = '' }: Pick<Email, 'subject'>): MailView => ({
  id,
  from,
  to: to.join(', '),
  subject,
  at,
})

export const detailOf = (mail: CaughtMail, email: Email): MailDetail => {
  const { headerLines, html, text, attachments } = email
  const headers = Object.fromEntries(
    headerLines.map(({ key, line }) => [key, line.slice(line.indexOf(':') + 1).trim()]),
  )
  const entry = attachments.find(({ mimeType }) => mimeType === 'text/calendar')
  const calendar = entry ? attachmentBytes(entry).toString() : null
  return { ...viewOf(mail, email), headers, html: html ?? null, text: text ?? null, calendar }
}

/** Returns the file name of an attachment, or a made-up one by its type. */
export const attachmentName = ({ filename, mimeType }: Attachment, nth: number): string =>
  filename || `attachment-${nth + 1}${mimeType === 'text/calendar' ? '.ics' : ''}`

export const attachmentBytes = ({ content, encoding, mimeType }: Attachment): Buffer => {
  const bytes =
    typeof content === 'string' ? Buffer.from(content, encoding ?? 'utf8') : Buffer.from(content as Uint8Array)
  // postal-mime changes the line ends of calendar entries; RFC 5545 requires CRLF.
  return mimeType === 'text/calendar' ? Buffer.from(bytes.toString().replace(/\r?\n/g, '\r\n')) : bytes
}
