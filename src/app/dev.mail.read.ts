import type { Attachment, Email } from 'postal-mime'
import type { CaughtMail } from './dev.mail.ts'

/** A caught mail as lists show it; `at` in epoch ms. */
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
  /** An iCalendar text that came with it. */
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

/** What an attachment is called; one without a name by its kind. */
export const attachmentName = ({ filename, mimeType }: Attachment, nth: number): string =>
  filename || `attachment-${nth + 1}${mimeType === 'text/calendar' ? '.ics' : ''}`

export const attachmentBytes = ({ content, encoding, mimeType }: Attachment): Buffer => {
  const bytes =
    typeof content === 'string' ? Buffer.from(content, encoding ?? 'utf8') : Buffer.from(content as Uint8Array)
  // postal-mime gives a calendar entry with line ends of its own; RFC 5545 has CRLF.
  return mimeType === 'text/calendar' ? Buffer.from(bytes.toString().replace(/\r?\n/g, '\r\n')) : bytes
}
