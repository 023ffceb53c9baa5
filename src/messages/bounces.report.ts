import { createHash } from 'node:crypto'
import type { Attachment } from 'postal-mime'

/*
 * Reads delivery reports (RFC 3464) and abuse reports (RFC 5965). What comes is anybody's: nothing in it is trusted but the
 * stamp of its recipient, and whatever can't be read is no report.
 */

/** What a report says of a message. `hard`: it failed for good; `soft`: it failed, though it might not have another time. */
export type ReportKind = 'hard' | 'soft' | 'delayed' | 'complaint' | 'other'

export interface Report {
  kind: ReportKind
  /** The bounce addresses (VERP) that it came to or names: whose message, and the stamp that proves it. */
  stamps: { id: string; stamp: string }[]
  /** `<msg_…@domain>` of the message that it is about, in two. */
  original: { id: string; domain: string } | null
  /** The same for the same report, by whatever way it came. */
  fingerprint: string
}

type Fields = ReadonlyMap<string, string>

/** Header fields by their names in lower case, unfolded; of several the first. */
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

/** `5.1.1`, with whatever stands behind it; where there is none the answer of the server that refused it. */
const isPermanent = (fields: Fields): boolean => {
  const status = /^([245])\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '')
  if (status) return status[1] === '5'
  return /^(smtp;)?\s*5\d\d\b/i.test(fields.get('diagnostic-code') ?? '')
}

const kindOfRecipient = (fields: Fields): ReportKind | null => {
  const action = /^[a-z]+/i.exec(fields.get('action') ?? '')?.[0].toLowerCase()
  if (action === undefined) return null
  if (action === 'failed') return isPermanent(fields) ? 'hard' : 'soft'
  return action === 'delayed' ? 'delayed' : 'other'
}

/** Of several recipients, to whom the address of the message led on, the gravest counts. */
const gravity: readonly ReportKind[] = ['hard', 'soft', 'delayed', 'other']

const kindOfStatus = (text: string): ReportKind | null => {
  const kinds = blocksOf(text).map(kindOfRecipient)
  return gravity.find((kind) => kinds.includes(kind)) ?? null
}

/** Feedback that blames nobody: a complaint taken back, and reports on signatures (RFC 6430, RFC 6591). */
const harmless = ['not-spam', 'auth-failure', 'dkim']

const kindOfFeedback = (fields: Fields): ReportKind =>
  harmless.includes(fields.get('feedback-type')?.toLowerCase() ?? '') ? 'other' : 'complaint'

const statusTypes = ['message/delivery-status', 'message/global-delivery-status']
const originalTypes = /^(message\/(rfc822|global)|(text|message)\/(rfc822|global)-headers)$/

const decoder = new TextDecoder()
const textOf = ({ content }: Attachment): string => (typeof content === 'string' ? content : decoder.decode(content))

const arrivedAt = ['to', 'cc', 'delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to']

/** Every address that looks like one of ours, with a wrong stamp or none too: that is not the same as no such address. */
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

/** The report that a message is; null where it is none. Never throws. */
export const readReport = async (raw: Uint8Array): Promise<Report | null> => {
  // Embedded messages stay as they are: what they have in them is nothing that this one says.
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
    fingerprint: createHash('sha256')
      .update(`${messageId}\n${said.replace(/\s+/g, ' ').trim()}`)
      .digest('hex'),
  }
}
