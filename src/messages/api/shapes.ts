import { z } from 'zod'
import { emailAddress } from '../../lib/address.ts'
import { emailDomain } from '../../lib/email.ts'
import { withMaxItems } from '../../lib/max-items.ts'
import { fillTags } from '../../lib/tags.ts'
import { idText, text } from '../../lib/text.ts'

export const messageStatuses = ['pending', 'sent', 'failed', 'suppressed'] as const

const subjectMaxLength = 200
const nameMaxLength = 200
const mergeFieldsMax = 100
/** Effectively unlimited: the limit of request bodies (8 MB) applies first. */
const anyLength = 8 * 1024 * 1024

/** A recipient's address, normalised. */
export const Recipient = emailAddress()

/** A display name, reduced to one line. */
export const DisplayName = text(nameMaxLength).transform((name) => name.replace(/[\p{Cc}\s]+/gu, ' ').trim())

export const MessageType = z.enum(['transactional', 'marketing'])
export type MessageType = z.infer<typeof MessageType>

const scalar = (value: unknown): string | null => {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? null : String(value)
}

/** Flat: nested values are dropped, null becomes an empty text, other values become their text. */
const MergeData = withMaxItems(
  z.record(text(anyLength), z.unknown()),
  mergeFieldsMax,
  `can't have more than ${mergeFieldsMax} fields`,
)
  .transform((fields) =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, value]) => {
        const kept = scalar(value)
        return kept === null ? [] : [[name, kept] as const]
      }),
    ),
  )
  .pipe(z.record(z.string(), text(anyLength)))
  .meta({ maxProperties: mergeFieldsMax })

const content = ['subject', 'html', 'text'] as const

/** The body of POST /send: with `projectId`, or with subject, html and text (docs/reference/api.md#post-send). */
export const SendBody = z
  .object({
    to: Recipient,
    type: MessageType.default('transactional'),
    from: z.object({ email: Recipient, name: DisplayName.optional() }).optional(),
    senderId: idText().optional(),
    replyTo: Recipient.optional(),
    subject: text(anyLength).optional(),
    html: text(anyLength).optional(),
    text: text(anyLength).optional(),
    projectId: idText().optional(),
    mergeData: MergeData.optional(),
  })
  .superRefine((body, context) => {
    if (body.projectId !== undefined) return
    for (const name of content) {
      if (body[name] === undefined)
        context.addIssue({ code: 'custom', path: [name], message: 'is required without projectId' })
    }
  })
  .meta({
    anyOf: [{ required: ['projectId'] }, { required: [...content] }],
    examples: [
      { to: 'ada.okafor@northwind.example', subject: 'Hello', html: '<p>Hello!</p>', text: 'Hello!' },
      { to: 'ada.okafor@northwind.example', projectId: 'prj_…', mergeData: { first_name: 'Ada' } },
    ],
  })
export type SendBody = z.output<typeof SendBody>

export const SendResult = z
  .object({
    id: z.string(),
    status: z.enum(messageStatuses),
    reason: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'SendResult' })
export type SendResult = z.infer<typeof SendResult>

/** Returns the subject on one line, cut to 200 characters without splitting a surrogate pair. */
export const subjectLine = (subject: string): string =>
  Array.from(subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '))
    .slice(0, subjectMaxLength)
    .join('')

/** Returns the text with its merge tags (`{{ field }}`) filled. An unknown tag becomes empty. */
export const fillSubject = (subject: string, mergeData: Readonly<Record<string, string>>): string =>
  fillTags(subject, (name) => (Object.hasOwn(mergeData, name) ? mergeData[name] : undefined))

/** Returns the address with its domain in ASCII, which every relay accepts in an envelope. */
export const asciiAddress = (email: string): string => `${email.slice(0, email.lastIndexOf('@'))}@${emailDomain(email)}`
