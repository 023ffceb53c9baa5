import { z } from 'zod'
import { ok, route } from '../http/route.ts'
import { idText, text } from '../lib/text.ts'
import { EntryRequest, JourneyShape, listJourneys, triggerJourney } from './journeys.ts'

/** GET /journeys, POST /journeys/{id}/trigger (docs/reference/api.md#journeys). */
export const routes = [
  route({
    name: 'listJourneys',
    method: 'GET',
    path: '/journeys',
    summary: 'List the journeys, most recently updated first',
    query: z.object({
      trigger: text(100).optional().describe('Only journeys of this trigger kind, such as `api`. Default: all'),
    }),
    answers: { 200: z.object({ journeys: z.array(JourneyShape).describe('Most recently updated first') }) },
    handle: async ({ app, caller, query }) =>
      ok({ journeys: await listJourneys({ sql: app.sql, accountId: caller.accountId }, query.trigger) }),
  }),
  route({
    name: 'triggerJourney',
    method: 'POST',
    path: '/journeys/:id/trigger',
    summary: 'Add an address to a list and start an API-triggered journey for it',
    params: z.object({ id: idText().describe('Id of the journey') }),
    body: EntryRequest,
    answers: { 200: z.object({ ok: z.literal(true).describe('Also if the re-entry rule keeps the contact out') }) },
    refusals: [404, 409],
    handle: async ({ app, caller, params, body }) => {
      const { accountId, keyId } = caller
      await triggerJourney(app, { accountId, actor: `key:${keyId}`, by: 'api' }, params.id, body)
      return ok({ ok: true })
    },
  }),
]
