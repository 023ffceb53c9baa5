import { z } from 'zod'
import { MemberEmail } from '../../courses/courses.ts'
import { epochMs } from '../../lib/common-shapes.ts'
import { idText, notBlank, text } from '../../lib/text.ts'
import { Timezone } from '../../lib/timezone.ts'

const titleMaxLength = 200
const nameMaxLength = 200
const descriptionMaxLength = 2_000
/** A day. */
const durationMax = 24 * 60
const largestInt = 2_147_483_647
/** The end of the year 9999. */
const latestMs = 253_402_300_799_999

/** The body of POST /webinars. null means the same as a missing property. */
export const WebinarBody = z.object({
  title: text(100_000)
    .trim()
    .min(1, 'must not be empty')
    .max(titleMaxLength)
    .meta({ pattern: notBlank, description: 'The title, 1 to 200 characters after trimming' }),
  scheduledAt: z
    .int()
    .min(0)
    .max(latestMs)
    .nullish()
    .describe('When it begins, in epoch ms, at most the end of the year 9999. Default: no time yet'),
  courseId: idText().nullish().describe('The course that it belongs to. Default: none'),
  capacity: z.int().min(0).max(largestInt).nullish().describe('Number of seats, 0 to 2,147,483,647. Default: no limit'),
  durationMinutes: z
    .int()
    .min(1)
    .max(durationMax)
    .nullish()
    .describe('How long it lasts, 1 to 1,440 minutes. Default: 60'),
  timezone: Timezone.nullish().describe(
    'IANA time zone of the times in emails and on pages, at most 100 characters. Default: that of the account',
  ),
  description: text(descriptionMaxLength)
    .nullish()
    .describe('What it is about, at most 2,000 characters. Default: none'),
})

export const StreamUrl = text(2000).refine(
  (url) => /^https?:\/\//i.test(url) && URL.canParse(url),
  'must be an http or https URL',
)

/** The properties of a new webinar. Some can only be set in the terminal. */
export const NewWebinar = WebinarBody.extend({
  accessMode: z.enum(['registration', 'subscribers']).default('registration'),
  streamUrl: StreamUrl.nullish(),
})

/** A change of a webinar in the terminal. A property that is left out keeps its value. */
export const WebinarChange = z
  .object({
    title: WebinarBody.shape.title,
    scheduledAt: z.int().min(0).max(latestMs),
    /** It is null if there is no limit. */
    capacity: z.int().min(0).max(largestInt).nullable(),
    streamUrl: StreamUrl,
    replayUrl: StreamUrl,
    durationMinutes: z.int().min(1).max(durationMax),
    timezone: Timezone,
    description: text(descriptionMaxLength),
  })
  .partial()

/** A webinar in the API and the terminal. Times in epoch ms (docs/reference/api.md#webinar). */
export const WebinarShape = z
  .object({
    id: z.string().describe('Id of the webinar'),
    title: z.string().describe('The title, at most 200 characters'),
    accessMode: z.enum(['registration', 'subscribers']).describe('Who can join; always `registration` in the API'),
    status: z.enum(['scheduled', 'live', 'ended', 'cancelled']).describe('The state of the session'),
    scheduledAt: epochMs('When it begins; null: no time yet').nullable(),
    startedAt: epochMs('When it started; null: not yet').nullable(),
    endedAt: epochMs('When it ended; null: not yet').nullable(),
    courseId: z.string().nullable().describe('Id of the course that it belongs to; null: none'),
    capacity: z.int().nullable().describe('Number of seats; null: no limit'),
    registeredCount: z.int().describe('Number of people with a seat'),
    waitlistedCount: z.int().describe('Number of people on the waitlist'),
    createdAt: epochMs('When it was created'),
    updatedAt: epochMs('When it last changed'),
  })
  .meta({ id: 'Webinar', description: 'A live session' })
export type WebinarView = z.infer<typeof WebinarShape>

const nameRequired = 'A name is required'

/** The body of POST /webinars/{id}/register. */
export const RegistrationBody = z
  .object({
    email: MemberEmail,
    name: z.string(nameRequired).trim().min(1, nameRequired).pipe(text(nameMaxLength)).meta({
      pattern: notBlank,
      maxLength: nameMaxLength,
      description: 'The name of the person, 1 to 200 characters',
    }),
  })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example', name: 'Ada Okafor' }] })
export type RegistrationBody = z.output<typeof RegistrationBody>

export const RegistrationResult = z.object({
  status: z.enum(['confirmed', 'waitlisted']).describe('`waitlisted`: all seats are taken'),
  joinUrl: z.url().nullable().describe('The page to join, with the token of the person; null on the waitlist'),
})
export type RegistrationResult = z.infer<typeof RegistrationResult>
