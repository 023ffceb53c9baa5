import { z } from 'zod'
import { epochMs } from '../lib/common-shapes.ts'

export const allText = 'Every address with an active contact'
export const excludedListsText = 'Lists whose addresses are left out'
export const excludedSegmentsText = 'Segments whose addresses are left out'

/** A broadcast (docs/reference/mail.md#broadcasts). Its numbers of emails are those by their current state. */
export const BroadcastShape = z
  .object({
    id: z.string().describe('Id of the broadcast'),
    name: z.string().describe('Name of the broadcast'),
    status: z
      .enum(['draft', 'scheduled', 'sending', 'paused', 'done', 'cancelled'])
      .describe('`scheduled`: it waits for its time; `done`: every email has ended'),
    listId: z.string().nullable().describe('Id of the list, or of the first one of several; null: every address'),
    listIds: z
      .array(z.string())
      .optional()
      .describe('Lists of its recipients, if there are several, segments beside them, or exclusions'),
    segmentId: z
      .string()
      .optional()
      .describe('Id of the segment of its recipients; absent: it has none, or has `segmentIds`'),
    segmentIds: z
      .array(z.string())
      .optional()
      .describe('Segments of its recipients, if there are several, lists beside them, or exclusions'),
    all: z.literal(true).optional().describe(allText),
    where: z.string().optional().describe('The filter of the contacts of each list, or that of the segment'),
    excludeListIds: z.array(z.string()).optional().describe(excludedListsText),
    excludeSegmentIds: z.array(z.string()).optional().describe(excludedSegmentsText),
    projectId: z.string().describe('Id of the project that it renders'),
    projectVersion: z.int().nullable().describe('The version that is sent; null: it has not been sent'),
    topicId: z.string().optional().describe('Id of its topic; absent: it has none'),
    subject: z.string().nullable().describe('The subject, with unfilled merge tags; null: its project was deleted'),
    from: z
      .object({
        email: z.string().describe('Address of the sender'),
        name: z.string().describe('Name beside the address; may be empty'),
      })
      .nullable()
      .describe('The sender; null: the account has none'),
    replyTo: z.string().nullable().describe('Where replies go; null: to the sender'),
    rate: z.int().nullable().describe('Maximum emails per minute; null: unlimited'),
    scheduledAt: epochMs('When it begins; null: when it is sent').nullable(),
    recipients: z.int().describe('Number of its recipients; of a draft, when it last changed'),
    queued: z.int().describe('Number of emails that have not ended'),
    sent: z.int().describe('Number of emails that a relay accepted'),
    failed: z.int().describe('Number of emails that failed'),
    suppressed: z.int().describe('Number of emails that were suppressed'),
    createdAt: epochMs('When it was created'),
    startedAt: epochMs('When its first emails were queued; null: not yet').nullable(),
    endedAt: epochMs('When its last email ended; null: not yet').nullable(),
    reason: z.string().optional().describe('Why it was cancelled, if no person cancelled it'),
  })
  .meta({ id: 'Broadcast', description: 'One email to the contacts of lists and segments' })
export type BroadcastView = z.output<typeof BroadcastShape>
