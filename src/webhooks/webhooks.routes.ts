import { z } from 'zod'
import { eventTypes } from '../events/events.ts'
import { sampleEvent } from '../events/samples.ts'
import { EventName, WebhookEventShape } from '../events/shapes.ts'
import { created, ok, route } from '../http/route.ts'
import { idText } from '../lib/text.ts'
import { createWebhook, deleteWebhook, listWebhooks, NewSubscription, NewWebhook, Subscription } from './webhooks.ts'

const list = route({
  name: 'listWebhooks',
  method: 'GET',
  path: '/webhooks',
  summary: 'List the webhook subscriptions, newest first',
  answers: { 200: z.object({ subscriptions: z.array(Subscription).describe('Newest first') }) },
  handle: async ({ work }) => ok({ subscriptions: await work(listWebhooks) }),
})

const create = route({
  name: 'createWebhook',
  method: 'POST',
  path: '/webhooks',
  summary: 'Subscribe a URL to events; only this response contains the secret',
  body: NewWebhook,
  answers: { 201: NewSubscription },
  refusals: [409],
  handle: async ({ app, caller, body }) => {
    const origin = { apiKeyId: caller.keyId, createdVia: body.source ?? ('api' as const) }
    return created(await createWebhook(app, caller.accountId, `key:${caller.keyId}`, body, origin))
  },
})

const remove = route({
  name: 'deleteWebhook',
  method: 'DELETE',
  path: '/webhooks/:id',
  summary: 'Delete a subscription and cancel its pending deliveries',
  params: z.object({ id: idText().describe('Id of the subscription') }),
  answers: { 200: z.object({ ok: z.literal(true).describe('It is deleted') }) },
  refusals: [404],
  handle: async ({ params, work }) => {
    await work((w) => deleteWebhook(w, params.id))
    return ok({ ok: true })
  },
})

const sample = route({
  name: 'sampleEvents',
  method: 'GET',
  path: '/events/sample',
  summary: 'Get sample events in the exact shape of real deliveries',
  query: z.object({ type: EventName.optional().describe('Only a sample of this type. Default: one of each type') }),
  answers: { 200: z.object({ events: z.array(WebhookEventShape).describe('The samples') }) },
  handle: async ({ app, query }) => {
    const now = app.now().getTime()
    const types = query.type ? [query.type] : eventTypes
    return ok({ events: types.map((type) => sampleEvent(type, { now })) })
  },
})

export const routes = [list, create, remove, sample]
