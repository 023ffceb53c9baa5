import { z } from 'zod'
import { DealShape } from '../events/shapes.ts'
import { type Answer, idempotencyKeyOf, made, ok, route } from '../http/route.ts'
import { text } from '../lib/text.ts'
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

const Created = z.object({ deal: DealShape, created: z.boolean() })

const pipelines = route({
  method: 'GET',
  path: '/pipelines',
  summary: 'The pipelines with their stages, the default one first',
  answers: { 200: z.object({ pipelines: z.array(PipelineShape) }) },
  handle: async ({ work }) => ok({ pipelines: await work(listPipelines) }),
})

const create = route({
  method: 'POST',
  path: '/deals',
  summary: 'Create a deal on a contact; with an Idempotency-Key, one deal for ever',
  body: NewDeal,
  answers: { 200: Created, 201: Created },
  refusals: [404],
  isIdempotent: true,
  // The same key answers the first deal whatever the body (decisions.md, Deals).
  replay: async ({ app, caller, headers }) => {
    const key = idempotencyKeyOf(headers)
    const deal = key === undefined ? null : await dealOfKey({ sql: app.sql, accountId: caller.accountId }, key)
    return deal && replayed(deal)
  },
  handle: async ({ body, headers, work }) => {
    const origin = { source: 'api' as const, idempotencyKey: idempotencyKeyOf(headers) }
    const { deal, created } = await work((w) => createDeal(w, body, origin))
    return created ? made({ deal, created }) : replayed(deal)
  },
})

const change = route({
  method: 'PATCH',
  path: '/deals/:id',
  summary: 'Change a deal, or move it to another stage of its pipeline',
  params: z.object({ id: text(500) }),
  body: DealChange,
  answers: { 200: z.object({ deal: DealShape, moved: z.boolean() }) },
  refusals: [404],
  handle: async ({ params, body, work }) => ok(await work((w) => changeDeal(w, params.id, body))),
})

export const routes = [pipelines, create, change]
