import { z } from 'zod'
import { listContacts, recordReads, requireList } from '../contacts/contacts.ts'
import { ContactShape } from '../events/shapes.ts'
import { created, existed, ok, page, pageOfQuery, pageQuery, pageShape, route } from '../http/route.ts'
import { epochMs } from '../lib/common-shapes.ts'
import { pageById } from '../lib/cursor.ts'
import { idText, text } from '../lib/text.ts'
import {
  compileFilter,
  countSegment,
  createSegment,
  deleteSegment,
  filterText,
  findSegmentById,
  listSegments,
  mistakesFirst,
  NewSegment,
  SegmentChange,
  updateSegment,
} from './segments.ts'

const Id = z.object({ id: idText().describe('Id of the segment') })
const Where = z.string().describe(filterText)

const SegmentShape = z
  .object({
    id: z.string().describe('Id of the segment'),
    name: z.string().describe('Name of the segment, unique in the account'),
    listId: z.string().describe('Id of the list whose contacts it selects'),
    where: Where,
    createdAt: epochMs('When it was created'),
    listDeleted: z.literal(true).optional().describe('Its list was deleted: it can only be deleted too'),
  })
  .meta({ id: 'Segment', description: 'The contacts of a list that meet a filter' })

const Counted = SegmentShape.extend({ count: z.int().describe('Number of contacts that are in it now') }).meta({
  id: 'SegmentDetail',
  description: 'A segment with the number of its contacts',
})

/** /segments and the contacts of a list (docs/reference/api.md#segments). */
export const routes = [
  route({
    name: 'listContacts',
    method: 'GET',
    path: '/lists/:id/contacts',
    summary: 'List the contacts of a list, in the order in which their addresses were added to the account',
    params: z.object({ id: idText().describe('Id of the list') }),
    query: z.object({
      where: text(10_000)
        .optional()
        .describe('Only contacts that meet this filter, such as `plan = pro`; at most 10,000 characters. Default: all'),
      ...pageQuery,
    }),
    answers: { 200: pageShape('contacts', ContactShape) },
    refusals: [404],
    handle: async ({ params, query, work }) =>
      page(
        'contacts',
        await work((w) =>
          mistakesFirst(w, query.where, async () => {
            await requireList(w, params.id)
            const matcher = query.where === undefined ? undefined : await compileFilter(w, query.where, params.id)
            const found = await listContacts(w, {
              list: params.id,
              ...pageOfQuery(query),
              condition: matcher?.condition,
            })
            await recordReads(w, found.rows)
            return found
          }),
        ),
      ),
  }),
  route({
    name: 'listSegments',
    method: 'GET',
    path: '/segments',
    summary: 'List the segments, oldest first',
    query: z.object(pageQuery),
    answers: { 200: pageShape('segments', SegmentShape) },
    handle: async ({ work, query }) => page('segments', pageById(await work(listSegments), 'seg', pageOfQuery(query))),
  }),
  route({
    name: 'createSegment',
    method: 'POST',
    path: '/segments',
    summary: 'Create a segment: the contacts of a list that meet a filter',
    body: z
      .object({
        name: NewSegment.shape.name,
        listId: idText().describe('The list whose contacts it selects'),
        where: Where,
      })
      .meta({ examples: [{ name: 'Active customers', listId: 'lst_…', where: 'plan = pro and opened < 30d' }] }),
    answers: { 201: z.object({ segment: SegmentShape }) },
    refusals: [404, 409],
    handle: async ({ body, work }) =>
      created({
        segment: await work((w) =>
          mistakesFirst(w, body.where, async () => {
            await requireList(w, body.listId)
            return createSegment(w, { name: body.name, list: body.listId, where: body.where })
          }),
        ),
      }),
  }),
  route({
    name: 'getSegment',
    method: 'GET',
    path: '/segments/:id',
    summary: 'Show a segment and how many contacts are in it now',
    params: Id,
    answers: { 200: z.object({ segment: Counted }) },
    refusals: [404],
    handle: async ({ params, work }) =>
      ok({
        segment: await work(async (w) => {
          const segment = await findSegmentById(w, params.id)
          return { ...segment, count: await countSegment(w, segment) }
        }),
      }),
  }),
  route({
    name: 'updateSegment',
    method: 'PATCH',
    path: '/segments/:id',
    summary: 'Change the name or the filter of a segment',
    params: Id,
    body: SegmentChange.refine(
      ({ name, where }) => name !== undefined || where !== undefined,
      'must have name or where',
    ).meta({ examples: [{ where: 'plan = pro' }] }),
    answers: { 200: z.object({ segment: SegmentShape }) },
    refusals: [404, 409],
    handle: async ({ params, body, work }) =>
      ok({
        segment: await work((w) =>
          mistakesFirst(w, body.where, async () => updateSegment(w, (await findSegmentById(w, params.id)).id, body)),
        ),
      }),
  }),
  route({
    name: 'deleteSegment',
    method: 'DELETE',
    path: '/segments/:id',
    summary: 'Delete a segment; its contacts stay. Not while an unsent broadcast uses it',
    params: Id,
    answers: { 200: z.object({ deleted: z.boolean().describe('false: there was none') }) },
    refusals: [409],
    handle: async ({ params, work }) =>
      ok({
        deleted: await existed(() => work(async (w) => deleteSegment(w, (await findSegmentById(w, params.id)).id))),
      }),
  }),
]
