import { z } from 'zod'
import { sampleEvent } from '../events/samples.ts'
import { EventName, WebhookEventShape } from '../events/shapes.ts'
import { eventTypes } from '../events/types.ts'
import { made, ok, route } from '../http/route.ts'
import { text } from '../lib/text.ts'
import { createWebhook, deleteWebhook, listWebhooks, NewSubscription, NewWebhook, Subscription } from './webhooks.ts'

const list = route({
  method: 'GET',
  path: '/webhooks',
  summary: 'List the webhook subscriptions, newest first',
  answers: { 200: z.object({ subscriptions: z.array(Subscription) }) },
  handle: async ({ work }) => ok({ subscriptions: await work(listWebhooks) }),
})

const create = route({
  method: 'POST',
  path: '/webhooks',
  summary: 'Subscribe a URL to events; the secret is shown in this answer only',
  body: NewWebhook,
  answers: { 201: NewSubscription },
  refusals: [409],
  handle: async ({ app, caller, body }) => {
    const origin = { apiKeyId: caller.keyId, createdVia: body.source ?? ('api' as const) }
    return made(await createWebhook(app, caller.accountId, `key:${caller.keyId}`, body, origin))
  },
})

const remove = route({
  method: 'DELETE',
  path: '/webhooks/:id',
  summary: 'Delete a subscription and stop its pending retries',
  params: z.object({ id: text(500) }),
  answers: { 200: z.object({ ok: z.literal(true) }) },
  refusals: [404],
  handle: async ({ params, work }) => {
    await work((w) => deleteWebhook(w, params.id))
    return ok({ ok: true })
  },
})

const sample = route({
  method: 'GET',
  path: '/events/sample',
  summary: 'Sample events, shaped exactly like real deliveries',
  query: z.object({ type: EventName.optional() }),
  answers: { 200: z.object({ events: z.array(WebhookEventShape) }) },
  handle: async ({ app, query }) => {
    const now = app.now().getTime()
    const types = query.type ? [query.type] : eventTypes
    return ok({ events: types.map((type) => sampleEvent(type, { now })) })
  },
})

export const routes = [list, create, remove, sample]
