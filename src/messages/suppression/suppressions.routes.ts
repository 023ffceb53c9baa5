import { z } from 'zod'
import { ok, page, pageOfQuery, pageQuery, pageShape, route } from '../../http/route.ts'
import { emailAddress } from '../../lib/address.ts'
import { pageById } from '../../lib/cursor.ts'
import { withMaxItems } from '../../lib/max-items.ts'
import { notFound } from '../../lib/problem.ts'
import { idText } from '../../lib/text.ts'
import {
  hasTopicId,
  listSuppressions,
  listTopics,
  readSubscriptions,
  removeSuppressionOf,
  SuppressionReasonShape,
  saveSubscriptions,
  suppressOne,
  topicsMax,
} from '../messages.ts'

const EpochMs = z.int().meta({ description: 'epoch ms' })

const Suppression = z
  .object({
    email: z.string().meta({ description: 'The address, normalised' }),
    reason: SuppressionReasonShape.meta({
      description: '`unsubscribed` stops marketing only; the other reasons stop every email',
    }),
    createdAt: EpochMs,
    topicId: z.string().nullable().meta({ description: 'The topic that it left; null: it is for all topics' }),
    topic: z.string().nullable().meta({ description: 'The name of the topic' }),
  })
  .meta({ id: 'Suppression' })

const Topic = z
  .object({
    id: z.string(),
    name: z.string().meta({ description: 'Its name, which recipients see' }),
    description: z.string().meta({ description: 'What it is about, for recipients; may be empty' }),
    createdAt: EpochMs,
  })
  .meta({ id: 'Topic' })

const Subscriptions = z
  .object({
    topics: z.record(z.string(), z.boolean()).meta({ description: 'Topic id to whether the person gets its emails' }),
    everything: z.boolean().meta({
      description: 'false: the person has unsubscribed from all marketing, or is suppressed for another reason',
    }),
  })
  .meta({ id: 'Preferences' })

const Address = z.object({ email: emailAddress() })
const TopicId = idText().optional()

const NewSuppression = z
  .object({
    reason: z.enum(['unsubscribed', 'manual']).meta({
      description: '`unsubscribed` stops marketing only; `manual` stops every email',
    }),
    topicId: TopicId.meta({ description: 'Stops only marketing of this topic. Absent: of all topics' }),
  })
  .refine(({ reason, topicId }) => topicId === undefined || reason === 'unsubscribed', {
    message: 'topicId needs the reason unsubscribed',
    path: ['topicId'],
  })
  .meta({ examples: [{ reason: 'manual' }, { reason: 'unsubscribed', topicId: 'top_…' }] })

const Choices = z
  .object({
    topics: withMaxItems(z.record(idText(), z.boolean()), topicsMax).optional().meta({
      description: 'Topic id to whether the person wants its emails. Topics that are left out stay as they are',
    }),
    everything: z.boolean().optional().meta({
      description:
        'false: unsubscribes from all marketing; true: takes that back, and no other suppression. Absent: it stays as it is',
    }),
  })
  .meta({ examples: [{ topics: { 'top_…': false } }, { everything: true }] })

/** /suppressions, /topics, /preferences (docs/reference/api.md#suppressions-topics-and-preferences). */
export const routes = [
  route({
    method: 'GET',
    path: '/suppressions',
    summary: 'List suppressed addresses, by address',
    query: z.object({
      email: emailAddress().optional().meta({ description: 'Only this address' }),
      reason: SuppressionReasonShape.optional().meta({ description: 'Only this reason' }),
      ...pageQuery,
    }),
    answers: { 200: pageShape('suppressions', Suppression) },
    handle: async ({ work, query }) => {
      const filter = { email: query.email ?? null, reason: query.reason ?? null }
      return page('suppressions', await work((w) => listSuppressions(w, filter, pageOfQuery(query))))
    },
  }),
  route({
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
    method: 'DELETE',
    path: '/suppressions/:email',
    summary: 'Remove the suppression of an address, or make it return to one topic; complaints stay',
    params: Address,
    query: z.object({ topicId: TopicId.meta({ description: 'Only return to this topic' }) }),
    answers: { 200: z.object({ deleted: z.boolean().meta({ description: 'false: there was none' }) }) },
    refusals: [404, 409],
    handle: async ({ params, query, work }) =>
      ok({ deleted: await work((w) => removeSuppressionOf(w, params.email, query.topicId)) }),
  }),
  route({
    method: 'GET',
    path: '/topics',
    summary: 'List the topics that people can leave, oldest first',
    query: z.object(pageQuery),
    answers: { 200: pageShape('topics', Topic) },
    handle: async ({ work, query }) => page('topics', pageById(await work(listTopics), pageOfQuery(query))),
  }),
  route({
    method: 'GET',
    path: '/preferences/:email',
    summary: 'Show which marketing an address gets',
    params: Address,
    answers: { 200: Subscriptions },
    handle: async ({ params, work }) => ok(await work((w) => readSubscriptions(w, params.email))),
  }),
  route({
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
