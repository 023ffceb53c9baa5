import { z } from 'zod'
import { Decoded, decodeBase64, decodedLength } from '../../lib/base64.ts'
import { withMaxItems } from '../../lib/max-items.ts'
import { mergeDataOf } from '../../lib/merge-data.ts'
import { idText, text } from '../../lib/text.ts'
import { DisplayName, MessageType, messageStatuses, Recipient } from '../messages.shapes.ts'

/** Effectively unlimited: the limit of request bodies (8 MB) applies first. */
const anyLength = 8 * 1024 * 1024

const headersMax = 20
const headerNameMaxLength = 100
const headerValueMaxLength = 998

const isHeaderName = /^(x-[a-z0-9!#$%&'*+.^_`|~-]+|references|in-reply-to)$/i
/** Ids of messages, which are ASCII. */
const holdsIds = /^(references|in-reply-to)$/i

/** They steer the provider behind a relay: which configuration, template or sub-account it uses, and what it tracks. */
const steersProvider = /^x-(ses-|mc-|pm-|mailgun-|smtpapi$)/i

const HeaderName = z
  .string()
  .max(headerNameMaxLength)
  .regex(isHeaderName, 'must be X-…, References or In-Reply-To')
  .refine((name) => !steersProvider.test(name), 'must not be a header that steers the email provider')

const HeaderValue = text(headerValueMaxLength).refine(
  (value) => !/[^\t\P{Cc}]/u.test(value),
  'must not contain line ends or other control characters',
)

const Headers = withMaxItems(
  z.record(HeaderName, HeaderValue),
  headersMax,
  `can't have more than ${headersMax} headers`,
)
  .superRefine((headers, context) => {
    const names = new Set<string>()
    for (const [name, value] of Object.entries(headers)) {
      const refuse = (message: string) => context.addIssue({ code: 'custom', path: [name], message })
      if (names.has(name.toLowerCase())) refuse('must be given once')
      if (holdsIds.test(name) && !/^[\t\x20-\x7e]*$/.test(value)) refuse('must be ASCII')
      names.add(name.toLowerCase())
    }
  })
  .meta({ maxProperties: headersMax })

const copiesMax = 10
const Copies = withMaxItems(z.array(Recipient), copiesMax).meta({ maxItems: copiesMax })

const attachmentsMax = 20
const attachmentsMaxBytes = 10 * 1024 * 1024
const filenameMaxLength = 200

const contentTypePattern =
  /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+(; ?[a-z0-9!#$&^_.+-]+=([a-z0-9!#$&^_.+-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/i

/** A long text is decoded already. Other texts are decoded when the length of all is known. */
const Base64 = z
  .custom<string | Decoded>((content) => typeof content === 'string' || content instanceof Decoded, {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a string'),
  })
  .meta({ type: 'string', contentEncoding: 'base64' })

const Attachment = z.object({
  filename: text(filenameMaxLength)
    .min(1)
    .refine(
      // Marks of direction make `gpj.exe` look like `exe.jpg`.
      (name) => !/[\p{Cc}\p{Bidi_Control}/\\]/u.test(name) && name !== '.' && name !== '..',
      'must not contain path separators, control characters or marks of text direction',
    ),
  contentType: z
    .string()
    .max(200)
    .regex(contentTypePattern, 'must be a content type')
    .refine((type) => !/^(multipart|message)\//i.test(type), 'must not be multipart or message')
    .optional(),
  content: Base64,
  contentId: z
    .string()
    .max(200)
    .regex(/^[\x21-\x3b\x3d\x3f-\x7e]+$/, 'must be printable ASCII without <, > and blanks')
    .optional(),
})

const lengthOf = (content: string | Decoded): number =>
  content instanceof Decoded ? (content.bytes?.length ?? 0) : decodedLength(content)

const Attachments = withMaxItems(z.array(Attachment), attachmentsMax)
  .transform((items, context) => {
    const refuse = (message: string, path: (string | number)[] = []) => {
      context.issues.push({ code: 'custom', message, path, input: undefined })
      return z.NEVER
    }
    const bytes = items.reduce((sum, { content }) => sum + lengthOf(content), 0)
    if (bytes > attachmentsMaxBytes) return refuse("can't have more than 10 MB in all")
    return items.map(({ filename, contentType = 'application/octet-stream', contentId = null, content }, i) => {
      const decoded = content instanceof Decoded ? content.bytes : decodeBase64(content)
      if (!decoded) refuse('must be base64', [i, 'content'])
      return { filename, contentType, contentId, content: decoded! }
    })
  })
  .meta({ maxItems: attachmentsMax })

const content = ['subject', 'html', 'text'] as const

/** The body of POST /send: with `projectId`, or with subject, html and text (docs/reference/api.md#post-send). */
export const SendBody = z
  .object({
    to: Recipient,
    cc: Copies.optional(),
    bcc: Copies.optional(),
    type: MessageType.default('transactional'),
    from: z.object({ email: Recipient, name: DisplayName.optional() }).optional(),
    senderId: idText().optional(),
    replyTo: Recipient.optional(),
    subject: text(anyLength).optional(),
    html: text(anyLength).optional(),
    text: text(anyLength).optional(),
    projectId: idText().optional(),
    topicId: idText().optional(),
    mergeData: mergeDataOf(anyLength).optional(),
    headers: Headers.optional(),
    attachments: Attachments.optional(),
    scheduledAt: z.int().optional(),
  })
  .superRefine((body, context) => {
    for (const name of ['cc', 'bcc'] as const) {
      if (!body[name]?.length || (body.projectId === undefined && body.type === 'transactional')) continue
      const message = 'is only for transactional email with subject, html and text'
      context.addIssue({ code: 'custom', path: [name], message })
    }
    if (body.topicId !== undefined && body.type !== 'marketing')
      context.addIssue({ code: 'custom', path: ['topicId'], message: 'is only for marketing email' })
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
    suppressed: z.array(z.string()).optional(),
  })
  .meta({ id: 'SendResult' })
export type SendResult = z.infer<typeof SendResult>
