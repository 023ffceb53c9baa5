import { z } from 'zod'
import { findList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { invalid, Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { countRecipients, keepTopic, Recipient, requireSender } from '../messages/messages.ts'
import { compileFilter, compileSegment, type FilterNames, keepSegment } from '../segments/segments.ts'
import type { Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'
import { type BroadcastView, showBroadcast } from './broadcasts.find.ts'

const timePattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

export const NewBroadcast = z.object({
  /** Default: the name of the project. */
  name: text(200).min(1).optional(),
  /** Id or name, as `segment` and `project`. */
  list: text(200).optional(),
  /** A filter of the list's contacts. */
  where: z.string().optional(),
  /** Instead of `list` and `where`. */
  segment: text(200).optional(),
  project: text(200),
  /** Id or name. */
  topic: text(200).optional(),
  subject: text(500).min(1).optional(),
  /** Id of a sender, or an address. Default: the account's default sender. */
  sender: text(320).min(1).optional(),
  /** Default: that of the sender. */
  replyTo: Recipient.optional(),
  /** An ISO time. Default: the broadcast begins when it is sent. */
  at: z
    .string()
    .refine((value) => timePattern.test(value) && !Number.isNaN(Date.parse(value)), {
      message: 'must be an ISO time such as 2026-12-01T09:00:00Z',
    })
    .transform((value) => new Date(value))
    .optional(),
  /** Messages per minute. */
  rate: z.coerce
    .number('must be a whole number of emails per minute')
    .int('must be a whole number of emails per minute')
    .min(1)
    .max(1_000_000)
    .optional(),
})
export type NewBroadcast = z.output<typeof NewBroadcast>

/** Finds the recipients: a list with an optional filter, or a segment, which stays until the end of the transaction. */
const findAudience = async (work: Work, { list, where, segment }: BroadcastChanges) => {
  if (segment !== undefined) {
    if (list !== undefined || where !== undefined)
      throw new Problem('usage', '--segment can not be combined with --list or --where')
    const found = await keepSegment(work, segment)
    const matcher = await compileSegment(work, found)
    return { listId: found.listId, segmentId: found.id, filter: found.where, filterNames: matcher.names, matcher }
  }
  if (list === undefined) throw new Problem('usage', '--list or --segment is missing')
  const { id: listId } = await findList(work, list)
  const matcher = where === undefined ? null : await compileFilter(work, where, listId)
  return { listId, segmentId: null, filter: where ?? null, filterNames: matcher?.names ?? null, matcher }
}

/** Returns the recipients of a draft, as `findAudience`. */
const audienceOf = async (work: Work, { listId, filter, filterNames }: Current) => ({
  listId,
  matcher: typeof filter !== 'string' ? null : await compileFilter(work, filter, listId, filterNames),
})

/** What `update` changes of a draft. null takes the default again, or nothing for `topic`, `at` and `rate`. */
export const BroadcastChanges = NewBroadcast.partial().extend({
  topic: NewBroadcast.shape.topic.nullable(),
  subject: NewBroadcast.shape.subject.nullable(),
  sender: NewBroadcast.shape.sender.nullable(),
  replyTo: NewBroadcast.shape.replyTo.nullable(),
  at: NewBroadcast.shape.at.nullable(),
  rate: NewBroadcast.shape.rate.nullable(),
})
export type BroadcastChanges = z.output<typeof BroadcastChanges>

interface Current {
  listId: string
  filter?: string | null | undefined
  filterNames?: FilterNames | null | undefined
  topicId?: string | null | undefined
}

const hasAudience = ({ list, where, segment }: BroadcastChanges): boolean =>
  list !== undefined || where !== undefined || segment !== undefined

/** `ifGiven(x, f)`: undefined and null stay, any other value is mapped. */
const ifGiven = async <In, Out>(given: In | null | undefined, map: (value: In) => Promise<Out>) =>
  given === undefined || given === null ? given : map(given)

/** Returns the columns that an input changes, without those that stay. `current`: those that the draft has; absent: it is new. */
export const valuesOf = async (work: Work, input: BroadcastChanges, current?: Current) => {
  const { name, subject, replyTo, rate, at } = input
  if (at && at <= work.now) throw invalid('at must be in the future')
  const { matcher, ...audience } =
    current && !hasAudience(input) ? await audienceOf(work, current) : await findAudience(work, input)
  const project = input.project === undefined ? undefined : await findProject(work, input.project)
  const topicId = await ifGiven(input.topic, async (ref) => (await keepTopic(work, ref)).id)
  const sender = await ifGiven(input.sender, (ref) => requireSender(work, ref))
  const topic = topicId === undefined ? (current?.topicId ?? null) : topicId
  const { recipients } = await countRecipients(work, audience.listId, matcher, topic)
  return {
    audience,
    project,
    ...{ name, topicId, subject, sender, replyTo, rate, scheduledAt: at, projectId: project?.id, recipients },
  }
}

/**
 * Creates a draft; only `sendBroadcast` sends it. Throws Problem `not_found` for the list, the segment, the project, the topic or the
 * sender, `invalid` where the time has passed or the filter has a mistake.
 */
export const createBroadcast = async (work: Work, input: NewBroadcast): Promise<BroadcastView> => {
  const { accountId, now } = work
  const { audience, project, ...values } = await valuesOf(work, input)
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  const broadcast = em.create(Broadcast, {
    ...audience,
    ...values,
    id: newId('bct', now.getTime()),
    accountId,
    name: input.name ?? project!.name,
    projectId: project!.id,
    status: 'draft',
    createdAt: now,
  })
  await em.flush()
  return showBroadcast(work, broadcast.id)
}
