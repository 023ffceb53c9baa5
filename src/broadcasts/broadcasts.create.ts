import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { invalid } from '../lib/problem.ts'
import { durationOf, isIsoTime } from '../lib/since.ts'
import { notBlank, text } from '../lib/text.ts'
import { Recipient } from '../messages/messages.ts'
import { requireSender } from '../senders/senders.ts'
import type { Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'
import { keepTopic } from '../suppressions/suppressions.ts'
import {
  type AudienceColumns,
  audienceOf,
  columnsOf,
  countAudience,
  findAudience,
  inputOf,
} from './broadcasts.audience.ts'
import type { Audience, Variants } from './broadcasts.entities.ts'
import { showBroadcast } from './broadcasts.find.ts'
import type { BroadcastView } from './broadcasts.shapes.ts'
import { variantsOf, winners } from './broadcasts.variants.ts'

const mostRefs = 100

/** One or several ids or names. */
const refs = z
  .union([text(200), z.array(text(200)).max(mostRefs)])
  .transform((given) => (Array.isArray(given) ? given : [given]))

const Subject = text(500).min(1)

export const NewBroadcast = z.object({
  /** The default is the name of the project. */
  name: text(200).trim().min(1, 'must not be empty').meta({ pattern: notBlank }).optional(),
  /** Lists, segments and projects are named by their ids or names. */
  list: refs.optional(),
  /** A filter of the contacts of each list. */
  where: z.string().optional(),
  segment: refs.optional(),
  /** Every address with an active contact. */
  all: z.boolean().optional(),
  excludeList: refs.optional(),
  excludeSegment: refs.optional(),
  project: text(200),
  /** The id or the name of a topic. */
  topic: text(200).optional(),
  /** Up to four: each recipient gets one of them. */
  subject: z
    .union([Subject, z.array(Subject).min(1).max(4, 'must be given at most four times')])
    .transform((given) => (Array.isArray(given) ? given : [given]))
    .optional(),
  /** The percentage of recipients who get variants. The rest gets the variant that is best after a time. */
  share: z.number('must be a percentage from 1 to 99').int().min(1).max(99).optional(),
  winner: z.enum(winners).optional(),
  /** Such as `4h`, counted from when the last of the share was queued. */
  after: text(20)
    .refine((after) => durationOf(after) !== null, 'must be a duration such as 4h')
    .optional(),
  /** The id of a sender, or an address. The default is the account's default sender. */
  sender: text(320).min(1).optional(),
  /** The default is that of the sender. */
  replyTo: Recipient.optional(),
  /** An ISO time. Without one, the broadcast begins when it is sent. */
  at: z
    .string()
    .refine(isIsoTime, 'must be an ISO time such as 2026-12-01T09:00:00Z')
    .transform((value) => new Date(value))
    .optional(),
  /** Messages per minute. */
  rate: z.int().min(1).max(1_000_000).optional(),
})
export type NewBroadcast = z.output<typeof NewBroadcast>

/** What `update` changes of a draft. A null restores the default; `topic`, `at` and `rate` have none, so a null removes them. */
export const BroadcastChanges = NewBroadcast.partial().extend({
  topic: NewBroadcast.shape.topic.nullable(),
  subject: NewBroadcast.shape.subject.nullable(),
  sender: NewBroadcast.shape.sender.nullable(),
  replyTo: NewBroadcast.shape.replyTo.nullable(),
  at: NewBroadcast.shape.at.nullable(),
  rate: NewBroadcast.shape.rate.nullable(),
})
export type BroadcastChanges = z.output<typeof BroadcastChanges>

type Current = AudienceColumns & {
  topicId?: string | null | undefined
  subject?: string | null | undefined
  variants?: Variants | null | undefined
}

/** Returns the audience that an input asks for. Lists, segments and exclusions replace those of the draft. */
const newAudience = async (work: Work, input: BroadcastChanges, current: Audience | null): Promise<Audience> => {
  if (!current) return findAudience(work, input)
  const before = inputOf(current)
  const { list, segment, all, where, excludeList = before.excludeList, excludeSegment = before.excludeSegment } = input
  const without = { excludeList, excludeSegment }
  const isReplaced = list !== undefined || segment !== undefined || all !== undefined
  // The filter is not compiled again, because a name in it may refer to something else by now.
  if (!isReplaced && where === undefined)
    return { ...current, without: (await findAudience(work, { all: true, ...without })).without }
  if (isReplaced) return findAudience(work, { list, segment, all, where, ...without })
  return findAudience(work, { ...before, where, ...without })
}

const names = ['list', 'segment', 'all', 'where', 'excludeList', 'excludeSegment'] as const

/** Maps a value; undefined and null stay as they are. */
const ifGiven = async <In, Out>(given: In | null | undefined, map: (value: In) => Promise<Out>) =>
  given === undefined || given === null ? given : map(given)

/**
 * Returns the subject and the variants that a draft has after a change. What the input leaves out stays as it is.
 * Returns nothing if the input changes neither.
 */
const subjectsOf = ({ subject, share, winner, after }: BroadcastChanges, current: Current | undefined) => {
  if (subject === undefined && share === undefined && winner === undefined && after === undefined) return {}
  const before = current?.variants ?? null
  const subjects = subject === undefined ? (before?.subjects ?? []) : (subject ?? [])
  const contest = subjects.length > 1 ? before?.contest : null
  const variants = variantsOf({
    subjects,
    share: share ?? contest?.share,
    winner: winner ?? contest?.by,
    after: after ?? contest?.afterMs,
  })
  const first = subject === undefined ? current?.subject : subjects[0]
  return { subject: first ?? null, variants }
}

/** Throws Problem `invalid` if the time at which a broadcast is to begin has passed. */
export const requireFuture = ({ now }: Work, { at }: Pick<BroadcastChanges, 'at'>): void => {
  if (at && at <= now) throw invalid('scheduledAt must be in the future')
}

/**
 * Returns the new values of the columns that an input changes. `current` has the columns of the draft; it is absent for a new
 * broadcast.
 */
export const valuesOf = async (work: Work, input: BroadcastChanges, current?: Current) => {
  const { name, replyTo, rate, at } = input
  requireFuture(work, input)
  const subjects = subjectsOf(input, current)
  const before = current ? audienceOf(current) : null
  const isChanged = names.some((name) => input[name] !== undefined)
  const audience = before && !isChanged ? before : await newAudience(work, input, before)
  const project = input.project === undefined ? undefined : await findProject(work, input.project)
  const topicId = await ifGiven(input.topic, async (ref) => (await keepTopic(work, ref)).id)
  const sender = await ifGiven(input.sender, (ref) => requireSender(work, ref))
  const topic = topicId === undefined ? (current?.topicId ?? null) : topicId
  const isCounted = !current || isChanged || topicId !== undefined
  return {
    audience: columnsOf(audience),
    project,
    ...subjects,
    name,
    topicId,
    sender,
    replyTo,
    rate,
    scheduledAt: at,
    projectId: project?.id,
    // A draft whose list was deleted can still be changed in other ways.
    recipients: isCounted ? (await countAudience(work, audience, topic)).recipients : undefined,
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
    recipients: values.recipients!,
    projectId: project!.id,
    status: 'draft',
    createdAt: now,
  })
  await em.flush()
  return showBroadcast(work, broadcast.id)
}
