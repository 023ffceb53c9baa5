import { z } from 'zod'
import { ok, route } from '../http/route.ts'
import { idText, text } from '../lib/text.ts'
import { EntryRequest, JourneyShape, listJourneys, triggerJourney } from './journeys.ts'

/** GET /journeys, POST /journeys/{id}/trigger (docs/reference/api.md#journeys). */
export const routes = [
  route({
    method: 'GET',
    path: '/journeys',
    summary: 'List the journeys, most recently updated first',
    query: z.object({
      trigger: text(100).optional().meta({ description: 'Only those of this trigger kind, such as `api`' }),
    }),
    answers: { 200: z.object({ journeys: z.array(JourneyShape) }) },
    handle: async ({ app, caller, query }) =>
      ok({ journeys: await listJourneys({ sql: app.sql, accountId: caller.accountId }, query.trigger) }),
  }),
  route({
    method: 'POST',
    path: '/journeys/:id/trigger',
    summary: 'Add an address to a list and start an API-triggered journey for it',
    params: z.object({ id: idText() }),
    body: EntryRequest,
    answers: { 200: z.object({ ok: z.literal(true) }) },
    refusals: [404, 409],
    handle: async ({ app, caller, params, body }) => {
      const { accountId, keyId } = caller
      await triggerJourney(app, { accountId, actor: `key:${keyId}`, by: 'api' }, params.id, body)
      return ok({ ok: true })
    },
  }),
]
