import { z } from 'zod'
import { findList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { invalid, Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { countRecipients, keepTopic, Recipient, requireSender } from '../messages/messages.ts'
import { compileFilter, compileSegment, keepSegment } from '../segments/segments.ts'
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
const findAudience = async (work: Work, { list, where, segment }: NewBroadcast) => {
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

/**
 * Creates a draft; only `sendBroadcast` sends it. Throws Problem `not_found` for the list, the segment, the project, the topic or the
 * sender, `invalid` where the time has passed or the filter has a mistake.
 */
export const createBroadcast = async (work: Work, input: NewBroadcast): Promise<BroadcastView> => {
  const { accountId, now } = work
  const { subject = null, replyTo = null, rate = null, at = null } = input
  const sender = input.sender === undefined ? null : await requireSender(work, input.sender)
  const { matcher, ...audience } = await findAudience(work, input)
  const project = await findProject(work, input.project)
  const topicId = input.topic === undefined ? null : (await keepTopic(work, input.topic)).id
  if (at && at <= now) throw invalid('at must be in the future')
  const { recipients } = await countRecipients(work, audience.listId, matcher, topicId)
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  const broadcast = em.create(Broadcast, {
    id: newId('bct', now.getTime()),
    accountId,
    name: input.name ?? project.name,
    status: 'draft',
    ...audience,
    projectId: project.id,
    topicId,
    subject,
    sender,
    replyTo,
    rate,
    scheduledAt: at,
    recipients,
    createdAt: now,
  })
  await em.flush()
  return showBroadcast(work, broadcast.id)
}
