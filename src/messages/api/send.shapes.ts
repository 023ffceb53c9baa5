import { z } from 'zod'
import { Decoded, decodeBase64, decodedLength } from '../../lib/base64.ts'
import { withMaxItems } from '../../lib/max-items.ts'
import { mergeDataOf } from '../../lib/merge-data.ts'
import { idText, text } from '../../lib/text.ts'
import { DisplayName } from '../../senders/senders.ts'
import { MessageType, messageStatuses, Recipient } from '../messages.shapes.ts'

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
  .meta({
    type: 'string',
    contentEncoding: 'base64',
    description: 'The file in base64 (RFC 4648, section 4); all files together at most 10 MB',
  })

const Attachment = z.object({
  filename: text(filenameMaxLength)
    .min(1)
    .refine(
      // Marks of direction make `gpj.exe` look like `exe.jpg`.
      (name) => !/[\p{Cc}\p{Bidi_Control}/\\]/u.test(name) && name !== '.' && name !== '..',
      'must not contain path separators, control characters or marks of text direction',
    )
    .describe('Name of the file, 1 to 200 characters, without path separators'),
  contentType: z
    .string()
    .max(200)
    .regex(contentTypePattern, 'must be a content type')
    .refine((type) => !/^(multipart|message)\//i.test(type), 'must not be multipart or message')
    .optional()
    .describe('Such as `text/csv; charset=utf-8`, at most 200 characters. Default: `application/octet-stream`'),
  content: Base64,
  contentId: z
    .string()
    .max(200)
    .regex(/^[\x21-\x3b\x3d\x3f-\x7e]+$/, 'must be printable ASCII without <, > and blanks')
    .optional()
    .describe(
      'Makes the file inline: the HTML refers to it by `cid:<contentId>`; at most 200 characters. Default: a plain attachment',
    ),
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

/** `projectId` chooses the shape of the body. What only the other shape has is ignored, as every unknown property is. */
const ofOneShape = (body: unknown): unknown => {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const { html, text, mergeData, ...both } = body as Record<string, unknown>
  return both.projectId === undefined ? { ...both, html, text } : { ...both, mergeData }
}

const Body = z
  .object({
    to: Recipient.describe('The recipient'),
    cc: Copies.optional().describe(
      'Up to 10 addresses that get a copy; only for transactional email without a project. Default: none',
    ),
    bcc: Copies.optional().describe('As `cc`, but no other recipient sees them. Default: none'),
    type: MessageType.default('transactional').describe(
      '`marketing` is not sent to people who unsubscribed, and has a link to unsubscribe in one click',
    ),
    from: z
      .object({
        email: Recipient.describe('A sender of the account, or an address on a verified domain'),
        name: DisplayName.optional().describe('The name beside the address, at most 200 characters. Default: none'),
      })
      .optional()
      .describe('The sender. Default: `senderId`, else the default sender of the account'),
    senderId: idText()
      .optional()
      .describe('A sender of the account, with its name and reply-to. Default: `from`, else the default sender'),
    replyTo: Recipient.optional().describe('Where replies go. Default: the reply-to of the sender'),
    subject: text(anyLength)
      .optional()
      .describe('Cut to 200 characters; required without a project. Default: the name of the project'),
    html: text(anyLength)
      .optional()
      .describe('The HTML, sent as it is; required without a project. Default: the project is rendered'),
    text: text(anyLength)
      .optional()
      .describe('The plain text, sent as it is; required without a project. Default: the project is rendered'),
    projectId: idText()
      .optional()
      .describe('The project to render. Default: the email has `subject`, `html` and `text`'),
    topicId: idText()
      .optional()
      .describe('The topic, only for marketing: people who left it get no email. Default: no topic'),
    mergeData: mergeDataOf(anyLength)
      .optional()
      .describe(
        'Values of the merge tags of the project: at most 100 fields; nested values are dropped. Default: none',
      ),
    headers: Headers.optional().describe(
      'At most 20 headers to add: `X-…` (name of at most 100 characters), `References` and `In-Reply-To`, each of at most 998 characters. Default: none',
    ),
    attachments: Attachments.optional().describe('At most 20 files with at most 10 MB in all. Default: none'),
    scheduledAt: z
      .int()
      .optional()
      .describe('When to send it, in epoch ms, between now and 30 days from now. Default: at once'),
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
  .meta({ anyOf: [{ required: ['projectId'] }, { required: [...content] }] })

/** The body of POST /send: with `projectId`, or with subject, html and text (docs/reference/api.md#post-send). */
export const SendBody = z.preprocess(ofOneShape, Body).meta({
  examples: [
    { to: 'ada.okafor@northwind.example', subject: 'Hello', html: '<p>Hello!</p>', text: 'Hello!' },
    { to: 'ada.okafor@northwind.example', projectId: 'prj_…', mergeData: { first_name: 'Ada' } },
  ],
})
export type SendBody = z.output<typeof SendBody>

export const SendResult = z
  .object({
    id: z.string().describe('Id of the email'),
    status: z
      .enum(messageStatuses)
      .describe(
        '`sent`: the relay accepted it; `pending`: it is sent later; `failed`: see `error`; `suppressed`: see `reason`',
      ),
    reason: z.string().optional().describe('Why it was suppressed, such as `unsubscribed`; absent otherwise'),
    error: z.string().optional().describe('Why it failed; absent otherwise'),
    suppressed: z
      .array(z.string())
      .optional()
      .describe('Addresses of `cc` and `bcc` that were left out; absent if there are none'),
  })
  .meta({ id: 'SendResult', description: 'The result of a call' })
export type SendResult = z.infer<typeof SendResult>
