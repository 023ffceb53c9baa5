import { z } from 'zod'
import { MemberEmail } from '../../courses/courses.ts'
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
  title: text(100_000).trim().min(1, 'must not be empty').max(titleMaxLength).meta({ pattern: notBlank }),
  /** In epoch ms. */
  scheduledAt: z.int().min(0).max(latestMs).nullish(),
  courseId: idText().nullish(),
  capacity: z.int().min(0).max(largestInt).nullish(),
  durationMinutes: z.int().min(1).max(durationMax).nullish(),
  /** Of the times in emails and on pages. */
  timezone: Timezone.nullish(),
  description: text(descriptionMaxLength).nullish(),
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
    /** null: no limit. */
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
    id: z.string(),
    title: z.string(),
    accessMode: z.enum(['registration', 'subscribers']),
    status: z.enum(['scheduled', 'live', 'ended', 'cancelled']),
    scheduledAt: z.int().nullable(),
    startedAt: z.int().nullable(),
    endedAt: z.int().nullable(),
    courseId: z.string().nullable(),
    capacity: z.int().nullable(),
    registeredCount: z.int(),
    waitlistedCount: z.int(),
    createdAt: z.int(),
    updatedAt: z.int(),
  })
  .meta({ id: 'Webinar' })
export type WebinarView = z.infer<typeof WebinarShape>

const nameRequired = 'A name is required'

/** The body of POST /webinars/{id}/register. */
export const RegistrationBody = z
  .object({
    email: MemberEmail,
    name: z
      .string(nameRequired)
      .trim()
      .min(1, nameRequired)
      .pipe(text(nameMaxLength))
      .meta({ pattern: notBlank, maxLength: nameMaxLength }),
  })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example', name: 'Ada Okafor' }] })
export type RegistrationBody = z.output<typeof RegistrationBody>

export const RegistrationResult = z.object({ status: z.enum(['confirmed', 'waitlisted']), joinUrl: z.url().nullable() })
export type RegistrationResult = z.infer<typeof RegistrationResult>
