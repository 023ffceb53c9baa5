import { z } from 'zod'
import { created, existed, ok, page, pageOfQuery, pageQuery, pageShape, route } from '../http/route.ts'
import { emailAddress } from '../lib/address.ts'
import { given } from '../lib/given.ts'
import { noSuch } from '../lib/problem.ts'
import { idText } from '../lib/text.ts'
import { SendResult } from '../messages/messages.ts'
import { machineActions } from '../results/results.ts'
import { mistakesFirst } from '../segments/segments.ts'
import type { Work } from '../store/work.ts'
import { allText, BroadcastShape, excludedListsText, excludedSegmentsText } from './broadcasts.shapes.ts'
import {
  type BroadcastChanges,
  type BroadcastView,
  cancelBroadcast,
  createBroadcast,
  deleteBroadcast,
  findBroadcastById,
  listBroadcasts,
  NewBroadcast,
  pauseBroadcast,
  requireFuture,
  resultsOfBroadcast,
  resumeBroadcast,
  sendBroadcast,
  showBroadcastInDetail,
  testBroadcast,
  updateBroadcast,
} from './broadcasts.ts'

const Id = z.object({ id: idText().describe('Id of the broadcast') })
const Ids = z.array(idText()).max(100)

/** Numbers of emails and of people. */
const Numbers = {
  sent: z.int().describe('Emails that a relay accepted'),
  failed: z.int().describe('Emails that failed'),
  cancelled: z.int().describe('Emails that were cancelled'),
  suppressed: z.int().describe('Emails that were suppressed'),
  bounced: z.int().describe('Emails that were sent, and reported as not delivered'),
  complained: z.int().describe('Emails that were reported as unwanted'),
  delivered: z.int().describe('Emails that were sent and not bounced'),
  opened: z.int().describe('People who opened one; clicks and answers count too'),
  clicked: z.int().describe('People who followed a link'),
  answered: z.int().describe('People who answered a block'),
  unsubscribed: z.int().describe('People who unsubscribed by the link of one'),
}

const Rates = {
  opened: z.number().nullable().describe('Of the delivered emails, 0 to 1; null: there are none'),
  clicked: z.number().nullable().describe('Of the delivered emails, 0 to 1; null: there are none'),
  answered: z.number().nullable().describe('Of the delivered emails, 0 to 1; null: there are none'),
  unsubscribed: z.number().nullable().describe('Of the delivered emails, 0 to 1; null: there are none'),
  bounced: z.number().nullable().describe('Of the sent emails, 0 to 1; null: there are none'),
  complained: z.number().nullable().describe('Of the delivered emails, 0 to 1; null: there are none'),
}

const Results = z
  .object({
    ...Numbers,
    links: z
      .array(
        z.object({
          url: z.string().describe('The link as its author wrote it'),
          clicks: z.int().describe('Number of clicks by people'),
          people: z.int().describe('Number of people who followed it'),
        }),
      )
      .describe('The links that people followed, most clicks first'),
    days: z
      .array(z.object({ date: z.string().describe('The UTC day, `YYYY-MM-DD`'), ...Numbers }))
      .describe('All days from the first to the last one with a number'),
  })
  .meta({ id: 'BroadcastResults', description: 'Numbers of emails and of people' })

const Detail = z.object({
  broadcast: BroadcastShape.extend({
    variants: z
      .array(
        z.object({
          subject: z.string().describe('The subject'),
          sent: Numbers.sent,
          opened: Numbers.opened,
          clicked: Numbers.clicked,
          answered: Numbers.answered,
        }),
      )
      .optional()
      .describe('The results of each subject; absent: it has one'),
    winner: z
      .string()
      .nullable()
      .optional()
      .describe('The subject that the rest gets; null: not decided; absent: it has one subject'),
    machines: z
      .object({
        opens: z.int().describe('Emails that machines opened'),
        clicks: z.int().describe('Links that machines followed, once for each email'),
      })
      .optional()
      .describe('What machines did, which its results leave out; absent: nothing'),
    stats: Results,
    rates: z.object(Rates).describe('Its results divided by the number of its emails'),
    average: z
      .object({ broadcasts: z.int().describe('Number of broadcasts that it is computed from, 1 to 5'), ...Rates })
      .nullable()
      .describe('The average of these rates over the last broadcasts before it; null: there are none'),
  }).meta({ id: 'BroadcastDetail', description: 'A broadcast with its results' }),
})
const One = z.object({ broadcast: BroadcastShape })

const { name, all, where, subject, share, winner, after, sender, replyTo, rate } = NewBroadcast.shape
const Audience = {
  listId: idText().optional().describe('The list of its recipients. Default: none'),
  listIds: Ids.optional().describe('Up to 100 lists; one email for each address. Default: none'),
  segmentId: idText().optional().describe('The segment of its recipients. Default: none'),
  segmentIds: Ids.optional().describe('Up to 100 segments. Default: none'),
  all: all.describe(`${allText}. Default: false`),
  where: where.describe('Only contacts of the lists that meet this filter. Default: all'),
  excludeListIds: Ids.optional().describe(`${excludedListsText}, up to 100. Default: none`),
  excludeSegmentIds: Ids.optional().describe(`${excludedSegmentsText}, up to 100. Default: none`),
}
const topicId = idText().describe('Its topic: people who left it get no email. Default: none')
const scheduledAt = z
  .int()
  .min(0)
  .max(8.64e15)
  .describe('When to begin, in epoch ms; not before it is sent. Default: when it is sent')

const Body = z
  .object({
    name: name.describe('Name of the broadcast, 1 to 200 characters. Default: the name of the project'),
    ...Audience,
    projectId: idText().describe('The project to render'),
    topicId: topicId.optional(),
    subject: subject.describe(
      'One subject of 1 to 500 characters, or up to four of which each recipient gets one. Default: the name of the project',
    ),
    share: share.describe(
      'Percentage of recipients who get the variants, 1 to 99; the rest gets the best one. Default: all get variants',
    ),
    winner: winner.describe('The rate that decides which variant is the best, with `share`. Default: none'),
    after: after.describe(
      'When the best one is chosen, `1m` to `30d` after the last email of the share was queued, with `share`. Default: none',
    ),
    sender: sender.describe('Id or address of a sender. Default: the default sender of the account'),
    replyTo: replyTo.describe('Where replies go. Default: the reply-to of the sender'),
    scheduledAt: scheduledAt.optional(),
    rate: rate.describe('Maximum emails per minute, 1 to 1,000,000. Default: unlimited'),
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

const content = Body.shape
const Changes = z
  .object({
    ...Audience,
    name: content.name,
    projectId: content.projectId.optional(),
    topicId: content.topicId.nullable(),
    subject: content.subject.nullable(),
    share: content.share,
    winner: content.winner,
    after: content.after,
    sender: content.sender.nullable(),
    replyTo: content.replyTo.nullable(),
    scheduledAt: content.scheduledAt.nullable(),
    rate: content.rate.nullable(),
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
  return given({
    ...plain,
    list: several(listId, listIds),
    segment: several(segmentId, segmentIds),
    excludeList: excludeListIds,
    excludeSegment: excludeSegmentIds,
    project: projectId,
    topic,
    at: typeof at === 'number' ? new Date(at) : at,
  })
}

/**
 * Throws Problem `not_found`, which rolls back, if the body has the name of a list, segment, project or topic in place of its id:
 * the operations, which commands share, take both.
 */
const requireIds = (body: Given, broadcast: BroadcastView): BroadcastView => {
  const { listId, listIds = [], segmentId, segmentIds = [], projectId, topicId } = broadcast
  const { excludeListIds = [], excludeSegmentIds = [] } = broadcast
  const lists = [listId, ...listIds, ...excludeListIds]
  const segments = [segmentId, ...segmentIds, ...excludeSegmentIds]
  const require = (noun: string, ids: readonly unknown[], refs: readonly (string | null | undefined)[]) => {
    for (const ref of refs) if (typeof ref === 'string' && !ids.includes(ref)) throw noSuch(noun, ref)
  }
  require('list', lists, [body.listId, ...(body.listIds ?? []), ...(body.excludeListIds ?? [])])
  require('segment', segments, [body.segmentId, ...(body.segmentIds ?? []), ...(body.excludeSegmentIds ?? [])])
  require('project', [projectId], [body.projectId])
  require('topic', [topicId], [body.topicId])
  return broadcast
}

const TestShape = z
  .object({
    ...SendResult.shape,
    projectVersion: z.int().describe('The version of the project that was rendered'),
    variants: z
      .array(z.object({ ...SendResult.shape, subject: z.string().describe('The subject') }))
      .optional()
      .describe('The result of each subject; absent: it has one'),
  })
  .meta({ id: 'BroadcastTest', description: 'What became of a test' })

/** Declares a call that changes the state of a broadcast. */
const action = (
  verb: 'send' | 'cancel' | 'pause' | 'resume',
  summary: string,
  run: (work: Work, id: string, app: Parameters<typeof sendBroadcast>[0]) => Promise<BroadcastView>,
) =>
  route({
    name: `${verb}Broadcast`,
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
    name: 'listBroadcasts',
    method: 'GET',
    path: '/broadcasts',
    summary: 'List the broadcasts, newest first',
    query: z.object(pageQuery),
    answers: { 200: pageShape('broadcasts', BroadcastShape) },
    handle: async ({ query, work }) => page('broadcasts', await work((w) => listBroadcasts(w, pageOfQuery(query)))),
  }),
  route({
    name: 'createBroadcast',
    method: 'POST',
    path: '/broadcasts',
    summary: 'Create a draft of an email to many people; nothing is sent yet',
    body: Body,
    answers: { 201: One },
    refusals: [404],
    handle: async ({ body, work }) =>
      created({
        broadcast: await work((w) =>
          mistakesFirst(w, body.where, async () =>
            requireIds(body, await createBroadcast(w, inputOf(body) as NewBroadcast)),
          ),
        ),
      }),
  }),
  route({
    name: 'getBroadcast',
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
          return {
            ...(await showBroadcastInDetail(w, view.id)),
            ...(await machineActions(w, view.id)),
            ...(await resultsOfBroadcast(w, view.id)),
          }
        }),
      }),
  }),
  route({
    name: 'updateBroadcast',
    method: 'PATCH',
    path: '/broadcasts/:id',
    summary: 'Change a draft; null restores the default',
    params: Id,
    body: Changes,
    answers: { 200: One },
    refusals: [404, 409],
    handle: async ({ params, body, work }) =>
      ok({
        broadcast: await work((w) =>
          mistakesFirst(w, body.where, async () => {
            const changes = inputOf(body) as BroadcastChanges
            requireFuture(w, changes)
            return requireIds(body, await updateBroadcast(w, (await findBroadcastById(w, params.id)).id, changes))
          }),
        ),
      }),
  }),
  route({
    name: 'deleteBroadcast',
    method: 'DELETE',
    path: '/broadcasts/:id',
    summary: 'Delete a draft, or a broadcast that was cancelled before anything was sent',
    params: Id,
    answers: { 200: z.object({ deleted: z.boolean().describe('false: there was none') }) },
    refusals: [409],
    handle: async ({ params, work }) =>
      ok({
        deleted: await existed(() => work(async (w) => deleteBroadcast(w, (await findBroadcastById(w, params.id)).id))),
      }),
  }),
  route({
    name: 'testBroadcast',
    method: 'POST',
    path: '/broadcasts/:id/test',
    summary: 'Send a test email of a broadcast, with [Test] in its subject and without tracking',
    params: Id,
    body: z
      .object({ to: emailAddress().describe('The recipient of the test') })
      .meta({ examples: [{ to: 'you@northwind.example' }] }),
    answers: { 200: TestShape },
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
