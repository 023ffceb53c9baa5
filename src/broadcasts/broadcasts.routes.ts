import { z } from 'zod'
import { created, existed, ok, page, pageOfQuery, pageQuery, pageShape, route } from '../http/route.ts'
import { emailAddress } from '../lib/address.ts'
import { idText } from '../lib/text.ts'
import { SendResult } from '../messages/messages.ts'
import type { Work } from '../store/work.ts'
import {
  BroadcastChanges,
  type BroadcastView,
  cancelBroadcast,
  createBroadcast,
  deleteBroadcast,
  findBroadcastById,
  listBroadcasts,
  NewBroadcast,
  pauseBroadcast,
  resultsOfBroadcast,
  resumeBroadcast,
  sendBroadcast,
  showBroadcastInDetail,
  testBroadcast,
  updateBroadcast,
} from './broadcasts.ts'

const Id = z.object({ id: idText() })
const Ids = z.array(idText()).max(100)
const EpochMs = z.int().meta({ description: 'epoch ms' })
const Counted = z.int()

const BroadcastShape = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    status: z.enum(['draft', 'scheduled', 'sending', 'paused', 'done', 'cancelled']),
    listId: z.string().nullable().meta({ description: 'The list, or the first one of several; null: every address' }),
    listIds: z.array(z.string()).optional().meta({ description: 'Lists of recipients, if there are several' }),
    segmentId: z.string().optional(),
    segmentIds: z.array(z.string()).optional().meta({ description: 'Segments of recipients, if there are several' }),
    all: z.literal(true).optional().meta({ description: 'Every address with an active contact' }),
    where: z.string().optional().meta({ description: 'Filter of the contacts of each list' }),
    excludeListIds: z.array(z.string()).optional().meta({ description: 'Lists whose addresses are left out' }),
    excludeSegmentIds: z.array(z.string()).optional().meta({ description: 'Segments whose addresses are left out' }),
    projectId: z.string(),
    projectVersion: z.int().nullable().meta({ description: 'The version that is sent; null: it has not been sent' }),
    topicId: z.string().optional(),
    subject: z.string().nullable().meta({ description: 'With unfilled merge tags' }),
    from: z.object({ email: z.string(), name: z.string() }).nullable(),
    replyTo: z.string().nullable(),
    rate: z.int().nullable().meta({ description: 'Most emails per minute; null: unlimited' }),
    scheduledAt: EpochMs.nullable(),
    recipients: Counted,
    queued: Counted.meta({ description: 'Emails that have not ended' }),
    sent: Counted,
    failed: Counted,
    suppressed: Counted,
    createdAt: EpochMs,
    startedAt: EpochMs.nullable(),
    endedAt: EpochMs.nullable(),
  })
  .meta({ id: 'Broadcast' })

const Detail = z.object({
  broadcast: BroadcastShape.extend({
    variants: z
      .array(z.object({ subject: z.string(), sent: Counted, opened: Counted, clicked: Counted, answered: Counted }))
      .optional()
      .meta({ description: 'The results of several subjects' }),
    winner: z.string().nullable().optional().meta({ description: 'The subject that the rest got; null: not decided' }),
    stats: z.looseObject({}).meta({ description: 'Its results: emails, people, links and days' }),
    rates: z.looseObject({}).meta({ description: 'Its results as parts of what was delivered, from 0 to 1' }),
    average: z
      .looseObject({})
      .nullable()
      .meta({ description: 'The averages of these rates of the last five broadcasts' }),
  }),
})
const One = z.object({ broadcast: BroadcastShape })

const { name, all, where, subject, share, winner, after, sender, replyTo, rate } = NewBroadcast.shape
const Audience = {
  listId: idText().optional().meta({ description: 'The list of its recipients' }),
  listIds: Ids.optional().meta({ description: 'Several lists; one email for each address' }),
  segmentId: idText().optional().meta({ description: 'The segment of its recipients' }),
  segmentIds: Ids.optional().meta({ description: 'Several segments' }),
  all: all.meta({ description: 'Every address with an active contact' }),
  where: where.meta({ description: 'Only contacts of the lists that meet this filter (docs/reference/segments.md)' }),
  excludeListIds: Ids.optional().meta({ description: 'Lists whose addresses are left out' }),
  excludeSegmentIds: Ids.optional().meta({ description: 'Segments whose addresses are left out' }),
}
const topicId = idText().optional().meta({ description: 'Its topic: people who left it get no email' })
const scheduledAt = z.int().min(0).max(8.64e15)

const Body = z
  .object({
    name: name.meta({ description: 'Default: the name of the project' }),
    ...Audience,
    projectId: idText().meta({ description: 'The project to render' }),
    topicId,
    subject: subject.meta({
      description: 'One, or up to four of which each recipient gets one. Default: the name of the project',
    }),
    share: share.meta({ description: 'Percentage of recipients who get the variants; the rest gets the best one' }),
    winner: winner.meta({ description: 'The rate that decides which variant is the best' }),
    after: after.meta({
      description: 'When the best one is chosen: `4h` is 4 hours after the last email of the share was queued',
    }),
    sender: sender.meta({ description: 'Id or address of a sender. Default: the default sender of the account' }),
    replyTo: replyTo.meta({ description: 'Default: that of the sender' }),
    scheduledAt: scheduledAt.optional().meta({ description: 'When to begin, epoch ms. Default: when it is sent' }),
    rate: rate.meta({ description: 'Most emails per minute. Default: unlimited' }),
  })
  .refine(
    (body) =>
      [body.listId, body.listIds, body.segmentId, body.segmentIds, body.all].some((value) => value !== undefined),
    'must name its recipients by listId, listIds, segmentId, segmentIds or all',
  )
  .meta({
    examples: [
      { listId: 'lst_…', projectId: 'prj_…' },
      { all: true, projectId: 'prj_…', rate: 600 },
    ],
  })

const changes = BroadcastChanges.shape
const Changes = z
  .object({
    ...Audience,
    name: changes.name,
    projectId: idText().optional(),
    topicId: topicId.nullable(),
    subject: changes.subject,
    share: changes.share,
    winner: changes.winner,
    after: changes.after,
    sender: changes.sender,
    replyTo: changes.replyTo,
    scheduledAt: scheduledAt.nullable().optional(),
    rate: changes.rate,
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), 'must change something')
  .meta({ examples: [{ subject: 'News of October', rate: null }] })

const several = (one: string | undefined, more: readonly string[] | undefined): string[] | undefined =>
  one === undefined && more === undefined ? undefined : [...(one === undefined ? [] : [one]), ...(more ?? [])]

type Given = Partial<z.output<typeof Body>> | z.output<typeof Changes>

/** Returns the input of the operations, which have other names for some properties. */
const inputOf = (body: Given) => {
  const { listId, listIds, segmentId, segmentIds, excludeListIds, excludeSegmentIds, ...rest } = body
  const { projectId, topicId: topic, scheduledAt: at, ...plain } = rest
  const input = {
    ...plain,
    list: several(listId, listIds),
    segment: several(segmentId, segmentIds),
    excludeList: excludeListIds,
    excludeSegment: excludeSegmentIds,
    project: projectId,
    topic,
    at: typeof at === 'number' ? new Date(at) : at,
  }
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}

/** Declares a call that changes the state of a broadcast. */
const action = (
  verb: 'send' | 'cancel' | 'pause' | 'resume',
  summary: string,
  run: (work: Work, id: string, app: Parameters<typeof sendBroadcast>[0]) => Promise<BroadcastView>,
) =>
  route({
    method: 'POST',
    path: `/broadcasts/:id/${verb}`,
    summary,
    params: Id,
    answers: { 200: One },
    refusals: [404, 409],
    handle: async ({ app, params, work }) =>
      ok({ broadcast: await work(async (w) => run(w, (await findBroadcastById(w, params.id)).id, app)) }),
  })

/** /broadcasts (docs/reference/api.md#broadcasts). */
export const routes = [
  route({
    method: 'GET',
    path: '/broadcasts',
    summary: 'List the broadcasts, newest first',
    query: z.object(pageQuery),
    answers: { 200: pageShape('broadcasts', BroadcastShape) },
    handle: async ({ query, work }) => page('broadcasts', await work((w) => listBroadcasts(w, pageOfQuery(query)))),
  }),
  route({
    method: 'POST',
    path: '/broadcasts',
    summary: 'Create a draft of an email to many people; nothing is sent yet',
    body: Body,
    answers: { 201: One },
    refusals: [404],
    handle: async ({ body, work }) =>
      created({ broadcast: await work((w) => createBroadcast(w, inputOf(body) as NewBroadcast)) }),
  }),
  route({
    method: 'GET',
    path: '/broadcasts/:id',
    summary: 'Show a broadcast, how far it is, and its results',
    params: Id,
    answers: { 200: Detail },
    refusals: [404],
    handle: async ({ params, work }) =>
      ok({
        broadcast: await work(async (w) => {
          const view = await findBroadcastById(w, params.id)
          return { ...(await showBroadcastInDetail(w, view.id)), ...(await resultsOfBroadcast(w, view.id)) }
        }),
      }),
  }),
  route({
    method: 'PATCH',
    path: '/broadcasts/:id',
    summary: 'Change a draft; null restores the default',
    params: Id,
    body: Changes,
    answers: { 200: One },
    refusals: [404, 409],
    handle: async ({ params, body, work }) =>
      ok({
        broadcast: await work(async (w) =>
          updateBroadcast(w, (await findBroadcastById(w, params.id)).id, inputOf(body) as BroadcastChanges),
        ),
      }),
  }),
  route({
    method: 'DELETE',
    path: '/broadcasts/:id',
    summary: 'Delete a draft, or a broadcast that was cancelled before anything was sent',
    params: Id,
    answers: { 200: z.object({ deleted: z.boolean().meta({ description: 'false: there was none' }) }) },
    refusals: [409],
    handle: async ({ params, work }) =>
      ok({
        deleted: await existed(() => work(async (w) => deleteBroadcast(w, (await findBroadcastById(w, params.id)).id))),
      }),
  }),
  route({
    method: 'POST',
    path: '/broadcasts/:id/test',
    summary: 'Send a test email of a broadcast, with [Test] in its subject and without tracking',
    params: Id,
    body: z
      .object({ to: emailAddress().meta({ description: 'The recipient of the test' }) })
      .meta({ examples: [{ to: 'you@northwind.example' }] }),
    answers: { 200: z.looseObject({ ...SendResult.shape }) },
    refusals: [404],
    handle: async ({ app, caller, params, body, work }) => {
      const { id } = await work((w) => findBroadcastById(w, params.id))
      return ok(await testBroadcast(app, caller.accountId, `key:${caller.keyId}`, id, body.to))
    },
  }),
  action('send', 'Send a draft, at its time or at once', (work, id, app) => sendBroadcast(app, work, id)),
  action('cancel', 'Stop a broadcast: its unsent emails fail, and their volume is returned', cancelBroadcast),
  action('pause', 'Pause a broadcast', pauseBroadcast),
  action('resume', 'Continue a paused broadcast where it stopped', resumeBroadcast),
]
