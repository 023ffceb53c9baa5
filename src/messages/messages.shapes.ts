import { z } from 'zod'
import { emailAddress } from '../lib/address.ts'
import { fillTags } from '../lib/tags.ts'

export const messageStatuses = ['pending', 'sent', 'failed', 'suppressed'] as const

/** The kinds of recipients of a call with several. */
export const copies = ['to', 'cc', 'bcc'] as const

const subjectMaxLength = 200

/** A recipient's address, normalised. */
export const Recipient = emailAddress()

export const MessageType = z.enum(['transactional', 'marketing'])
export type MessageType = z.infer<typeof MessageType>

/** Returns the subject on one line, cut to 200 characters without splitting a surrogate pair. */
export const subjectLine = (subject: string): string =>
  Array.from(subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '))
    .slice(0, subjectMaxLength)
    .join('')

/** Returns the text with its merge tags (`{{ field }}`) filled. An unknown tag becomes empty. */
export const fillSubject = (subject: string, mergeData: Readonly<Record<string, string>>): string =>
  fillTags(subject, (name) => (Object.hasOwn(mergeData, name) ? mergeData[name] : undefined))
