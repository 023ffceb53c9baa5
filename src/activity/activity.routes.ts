import { z } from 'zod'
import { type Answer, idempotencyKeyOf, ok, route } from '../http/route.ts'
import { ActivityReport, type Recorded, recordActivity, resultOfKey } from './activity.ts'

const replayed = (recorded: Recorded): Answer => ({ ...ok(recorded), headers: { 'idempotent-replayed': 'true' } })

/** POST /events (docs/reference/api.md#post-events). */
export const routes = [
  route({
    name: 'reportEvent',
    method: 'POST',
    path: '/events',
    summary: 'Report what a person did, which can start journeys; calls with the same Idempotency-Key record it once',
    body: ActivityReport,
    answers: {
      200: z.object({
        id: z.string().describe('Id of the recorded event'),
        journeys: z.int().describe('Number of journeys that the event started'),
      }),
    },
    refusals: [404, 409],
    isIdempotent: true,
    // A known key returns its result, whatever the body is.
    replay: async ({ app, caller, headers }) => {
      const key = idempotencyKeyOf(headers)
      const first = key === undefined ? null : await resultOfKey({ sql: app.sql, accountId: caller.accountId }, key)
      return first && replayed(first)
    },
    handle: async ({ app, caller, body, headers }) => {
      const { accountId, keyId } = caller
      const by = { accountId, actor: `key:${keyId}` }
      const { isReplay, ...recorded } = await recordActivity(app, by, body, idempotencyKeyOf(headers))
      return isReplay ? replayed(recorded) : ok(recorded)
    },
  }),
]
