import { hash } from 'node:crypto'
import type { Attachment } from 'postal-mime'
import type { Report } from '../messages/messages.ts'

/*
 * Reads delivery reports (RFC 3464) and abuse reports (RFC 5965). The input is untrusted: only the stamp in the recipient's address
 * proves anything, and a message that can't be parsed is no report.
 */

type Fields = ReadonlyMap<string, string>

/** Returns the unfolded header fields by lower-case name. If a field is repeated, the first one counts. */
const fieldsOf = (block: string): Fields => {
  const fields = new Map<string, string>()
  for (const line of block.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).trim().toLowerCase()
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

const blocksOf = (text: string): Fields[] => text.split(/\r?\n[ \t]*\r?\n/).map(fieldsOf)

/** Reads the status, such as `5.1.1 (comment)`. If there is none, the reply of the server that refused the message decides. */
const isPermanent = (fields: Fields): boolean => {
  const status = /^([245])\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '')
  if (status) return status[1] === '5'
  return /^(smtp;)?\s*5\d\d\b/i.test(fields.get('diagnostic-code') ?? '')
}

const kindOfRecipient = (fields: Fields): Report['kind'] | null => {
  const action = /^[a-z]+/i.exec(fields.get('action') ?? '')?.[0].toLowerCase()
  if (action === undefined) return null
  if (action === 'failed') return isPermanent(fields) ? 'hard' : 'soft'
  return action === 'delayed' ? 'delayed' : 'other'
}

/** Most severe first. A report has several recipients if the message was forwarded; the most severe kind counts. */
const gravity: readonly Report['kind'][] = ['hard', 'soft', 'delayed', 'other']

const kindOfStatus = (text: string): Report['kind'] | null => {
  const kinds = blocksOf(text).map(kindOfRecipient)
  return gravity.find((kind) => kinds.includes(kind)) ?? null
}

/** Feedback types that are no complaint: a withdrawn complaint, and authentication failures (RFC 6430, RFC 6591). */
const harmless = ['not-spam', 'auth-failure', 'dkim']

const kindOfFeedback = (fields: Fields): Report['kind'] =>
  harmless.includes(fields.get('feedback-type')?.toLowerCase() ?? '') ? 'other' : 'complaint'

const statusTypes = ['message/delivery-status', 'message/global-delivery-status']
const originalTypes = /^(message\/(rfc822|global)|(text|message)\/(rfc822|global)-headers)$/

const decoder = new TextDecoder()
const textOf = ({ content }: Attachment): string => (typeof content === 'string' ? content : decoder.decode(content))

const arrivedAt = ['to', 'cc', 'delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to']

/** Returns every bounce address, also with a wrong stamp or none: a wrong stamp is a forgery, no address is not. */
const stampsIn = (text: string): Report['stamps'] =>
  [...text.toLowerCase().matchAll(/\+(msg_[^@\s<>,;"]{0,300})@/g)].map(([, named]) => {
    const [id = '', stamp = ''] = named!.split('.', 2)
    return { id, stamp }
  })

const originalIn = (text: string): Report['original'] => {
  const [head = ''] = text.replace(/^[\r\n]+/, '').split(/\r?\n\r?\n/, 1)
  const found = /<(msg_[a-z0-9]+)@([^<>\s]+)>/i.exec(fieldsOf(head).get('message-id') ?? '')
  return found && { id: found[1]!.toLowerCase(), domain: found[2]!.toLowerCase() }
}

/** Parses a message. Returns null if it is no report. Never throws. */
export const readReport = async (raw: Uint8Array): Promise<Report | null> => {
  // Embedded messages are not parsed: a report inside them is not a statement of this message.
  const { default: PostalMime } = await import('postal-mime')
  const mail = await PostalMime.parse(raw, { forceRfc822Attachments: true }).catch(() => null)
  if (!mail) return null
  const { attachments, headers, messageId = '' } = mail
  const status = attachments.find(({ mimeType }) => statusTypes.includes(mimeType))
  const feedback = attachments.find(({ mimeType }) => mimeType === 'message/feedback-report')
  const part = feedback ?? status
  if (!part) return null
  const said = textOf(part)
  const fields = fieldsOf(said)
  const kind = feedback ? kindOfFeedback(fields) : kindOfStatus(said)
  if (!kind) return null
  const original = attachments.find(({ mimeType }) => originalTypes.test(mimeType))
  const addressed = headers.flatMap(({ key, value }) => (arrivedAt.includes(key) ? value : []))
  return {
    kind,
    stamps: stampsIn([...addressed, fields.get('original-mail-from') ?? ''].join('\n')),
    original: original ? originalIn(textOf(original)) : null,
    fingerprint: hash('sha256', `${messageId}\n${said.replace(/\s+/g, ' ').trim()}`),
  }
}
