import { z } from 'zod'
import { ok, route } from '../http/route.ts'
import { text } from '../lib/text.ts'
import { Entrant, JourneyShape, listJourneys, triggerJourney } from './journeys.ts'

/** GET /journeys, POST /journeys/{id}/trigger (api.md section 4, Journeys). */
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
    summary: 'Let an address into a journey whose trigger is the API, adding it to the list first',
    params: z.object({ id: text(500) }),
    body: Entrant,
    answers: { 200: z.object({ ok: z.literal(true) }) },
    refusals: [404, 409],
    handle: async ({ app, caller, params, body }) => {
      const { accountId, keyId } = caller
      await triggerJourney(app, { accountId, actor: `key:${keyId}`, by: 'api' }, params.id, body)
      return ok({ ok: true })
    },
  }),
]
