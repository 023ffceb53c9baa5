import { z } from 'zod'
import { DealShape } from '../events/shapes.ts'
import { type Answer, created, idempotencyKeyOf, ok, route } from '../http/route.ts'
import { idText } from '../lib/text.ts'
import {
  changeDeal,
  createDeal,
  type Deal,
  DealChange,
  dealOfKey,
  listPipelines,
  NewDeal,
  PipelineShape,
} from './deals.ts'

const replayed = (deal: Deal): Answer => ({
  ...ok({ deal, created: false }),
  headers: { 'idempotent-replayed': 'true' },
})

const Created = z.object({
  deal: DealShape,
  created: z.boolean().describe('false: an earlier call with the same Idempotency-Key created it'),
})

const pipelines = route({
  name: 'listPipelines',
  method: 'GET',
  path: '/pipelines',
  summary: 'List the pipelines with their stages, the default pipeline first',
  answers: { 200: z.object({ pipelines: z.array(PipelineShape).describe('The default pipeline first') }) },
  handle: async ({ work }) => ok({ pipelines: await work(listPipelines) }),
})

const create = route({
  name: 'createDeal',
  method: 'POST',
  path: '/deals',
  summary: 'Create a deal for a contact; calls with the same Idempotency-Key create it once',
  body: NewDeal,
  answers: { 200: Created, 201: Created },
  refusals: [404],
  isIdempotent: true,
  // A known key returns its deal, whatever the body is (docs/reference/rules.md#deals).
  replay: async ({ app, caller, headers }) => {
    const key = idempotencyKeyOf(headers)
    const deal = key === undefined ? null : await dealOfKey({ sql: app.sql, accountId: caller.accountId }, key)
    return deal && replayed(deal)
  },
  handle: async ({ body, headers, work }) => {
    const origin = { source: 'api' as const, idempotencyKey: idempotencyKeyOf(headers) }
    const { deal, created: isNew } = await work((w) => createDeal(w, body, origin))
    return isNew ? created({ deal, created: isNew }) : replayed(deal)
  },
})

const change = route({
  name: 'updateDeal',
  method: 'PATCH',
  path: '/deals/:id',
  summary: 'Update a deal, or move it to another stage of its pipeline',
  params: z.object({ id: idText().describe('Id of the deal') }),
  body: DealChange,
  answers: { 200: z.object({ deal: DealShape, moved: z.boolean().describe('Whether its stage changed') }) },
  refusals: [404],
  handle: async ({ params, body, work }) => ok(await work((w) => changeDeal(w, params.id, body))),
})

export const routes = [pipelines, create, change]
