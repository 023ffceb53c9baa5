import { z } from 'zod'
import { ok, page, pageOfQuery, pageQuery, pageShape, route } from '../http/route.ts'
import { emailAddress } from '../lib/address.ts'
import { epochMs } from '../lib/common-shapes.ts'
import { pageById } from '../lib/cursor.ts'
import { withMaxItems } from '../lib/max-items.ts'
import { notFound } from '../lib/problem.ts'
import { idText } from '../lib/text.ts'
import { readSubscriptions, removeSuppressionOf, saveSubscriptions, suppressOne } from './subscriptions.ts'
import { hasTopicId, listSuppressions, listTopics, SuppressionReasonShape } from './suppressions.ts'
import { topicsMax } from './topics.change.ts'

const Suppression = z
  .object({
    email: z.string().describe('The address, in lower case'),
    reason: SuppressionReasonShape.describe('`unsubscribed` stops marketing only; the other reasons stop every email'),
    createdAt: epochMs('When the address was suppressed'),
    topicId: z.string().nullable().describe('Id of the topic that the person left; null: it is for all topics'),
    topic: z.string().nullable().describe('Name of the topic; null: it is for all topics'),
  })
  .meta({ id: 'Suppression', description: 'An address that gets no email, or no marketing' })

const Topic = z
  .object({
    id: z.string().describe('Id of the topic'),
    name: z.string().describe('Name of the topic, which recipients see'),
    description: z.string().describe('What it is about, for recipients; may be empty'),
    createdAt: epochMs('When it was created'),
  })
  .meta({ id: 'Topic', description: 'A kind of marketing email that people can leave' })

const Subscriptions = z
  .object({
    topics: z.record(z.string(), z.boolean()).describe('Topic id to whether the person gets its emails'),
    everything: z
      .boolean()
      .describe('false: the person has unsubscribed from all marketing, or is suppressed for another reason'),
  })
  .meta({ id: 'Preferences', description: 'Which marketing an address gets' })

const Address = z.object({ email: emailAddress().describe('The address, at most 320 characters') })
const TopicId = idText().optional()

const NewSuppression = z
  .object({
    reason: z
      .enum(['unsubscribed', 'manual'])
      .describe('`unsubscribed` stops marketing only; `manual` stops every email'),
    topicId: TopicId.describe('Stops only marketing of this topic; the reason is `unsubscribed`. Default: all topics'),
  })
  .refine(({ reason, topicId }) => topicId === undefined || reason === 'unsubscribed', {
    message: 'topicId needs the reason unsubscribed',
    path: ['topicId'],
  })
  .meta({ examples: [{ reason: 'manual' }, { reason: 'unsubscribed', topicId: 'top_…' }] })

const Choices = z
  .object({
    topics: withMaxItems(z.record(idText(), z.boolean()), topicsMax)
      .optional()
      .describe(
        `Topic id to whether the person wants its emails, at most ${topicsMax}. Default: topics that are left out stay as they are`,
      ),
    everything: z
      .boolean()
      .optional()
      .describe(
        'false: unsubscribes from all marketing; true: takes that back, and no other suppression. Default: it stays as it is',
      ),
  })
  .meta({ examples: [{ topics: { 'top_…': false } }, { everything: true }] })

/** /suppressions, /topics, /preferences (docs/reference/api.md#suppressions-topics-and-preferences). */
export const routes = [
  route({
    name: 'listSuppressions',
    method: 'GET',
    path: '/suppressions',
    summary: 'List suppressed addresses, by address',
    query: z.object({
      email: emailAddress().optional().describe('Only this address. Default: all'),
      reason: SuppressionReasonShape.optional().describe('Only this reason. Default: all'),
      ...pageQuery,
    }),
    answers: { 200: pageShape('suppressions', Suppression) },
    handle: async ({ work, query }) => {
      const filter = { email: query.email ?? null, reason: query.reason ?? null }
      return page('suppressions', await work((w) => listSuppressions(w, filter, pageOfQuery(query))))
    },
  }),
  route({
    name: 'createSuppression',
    method: 'PUT',
    path: '/suppressions/:email',
    summary: 'Suppress an address, or make it leave one topic',
    params: Address,
    body: NewSuppression,
    answers: { 200: z.object({ suppression: Suppression }) },
    refusals: [404],
    handle: async ({ params, body, work }) =>
      ok({ suppression: await work((w) => suppressOne(w, params.email, body.reason, body.topicId)) }),
  }),
  route({
    name: 'deleteSuppression',
    method: 'DELETE',
    path: '/suppressions/:email',
    summary: 'Remove the suppression of an address, or make it return to one topic; complaints stay',
    params: Address,
    query: z.object({
      topicId: TopicId.describe(
        'Only return to this topic. Default: the suppression ends, and topics that the address left stay left',
      ),
    }),
    answers: { 200: z.object({ deleted: z.boolean().describe('false: there was none') }) },
    refusals: [404, 409],
    handle: async ({ params, query, work }) =>
      ok({ deleted: await work((w) => removeSuppressionOf(w, params.email, query.topicId)) }),
  }),
  route({
    name: 'listTopics',
    method: 'GET',
    path: '/topics',
    summary: 'List the topics that people can leave, oldest first',
    query: z.object(pageQuery),
    answers: { 200: pageShape('topics', Topic) },
    handle: async ({ work, query }) => page('topics', pageById(await work(listTopics), 'top', pageOfQuery(query))),
  }),
  route({
    name: 'getPreferences',
    method: 'GET',
    path: '/preferences/:email',
    summary: 'Show which marketing an address gets',
    params: Address,
    answers: { 200: Subscriptions },
    handle: async ({ params, work }) => ok(await work((w) => readSubscriptions(w, params.email))),
  }),
  route({
    name: 'updatePreferences',
    method: 'PUT',
    path: '/preferences/:email',
    summary: 'Change which marketing an address gets',
    params: Address,
    body: Choices,
    answers: { 200: Subscriptions },
    refusals: [404],
    handle: async ({ params, body, work }) =>
      ok(
        await work(async (w) => {
          for (const id of Object.keys(body.topics ?? {}))
            if (!(await hasTopicId(w, id))) throw notFound('There is no such topic')
          return saveSubscriptions(w, params.email, body)
        }),
      ),
  }),
]
