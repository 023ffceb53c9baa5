import { z } from 'zod'
import { ok, page, pageOfQuery, pageQuery, pageShape, route } from '../../http/route.ts'
import { emailAddress } from '../../lib/address.ts'
import { epochMs } from '../../lib/common-shapes.ts'
import { Problem } from '../../lib/problem.ts'
import { idText } from '../../lib/text.ts'
import { cancelledError, cancelSend, findSend, listSends } from '../../messages/messages.ts'
import { withReactions } from './reactions.ts'

const Status = z.enum(['pending', 'sent', 'failed', 'suppressed'])

const SendShape = z
  .object({
    id: z.string().describe('Id of the email'),
    to: z.string().describe('The address of the recipient; empty after its erasure'),
    subject: z.string().describe('The subject, at most 200 characters'),
    type: z.enum(['transactional', 'marketing']).describe('The type of its call'),
    status: Status.describe('`sent`: the relay accepted it; `pending`: it has not ended'),
    error: z.string().nullable().describe('Why it failed or was suppressed; else null'),
    createdAt: epochMs('When it was accepted'),
    sentAt: epochMs('When the relay accepted it; null: it was not sent').nullable(),
    scheduledAt: epochMs('When its call asked to send it; null: as soon as possible').nullable(),
    opened: z.boolean().describe('Whether a person opened it; clicks and answers count too'),
    clicked: z.boolean().describe('Whether a person followed one of its links'),
    bounced: z.boolean().describe('Whether a report says that it was not delivered'),
  })
  .meta({ id: 'SendRecord', description: 'An email of the account, with what its recipient did' })

const Id = z.object({ id: idText().describe('Id of the email') })

/** /sends (docs/reference/api.md#sends). */
export const routes = [
  route({
    name: 'listSends',
    method: 'GET',
    path: '/sends',
    summary: 'List the emails of the account, newest first',
    query: z.object({
      email: emailAddress().optional().describe('Only emails to this address. Default: all'),
      status: Status.optional().describe('Only emails with this status. Default: all'),
      ...pageQuery,
    }),
    answers: { 200: pageShape('sends', SendShape) },
    handle: async ({ query, work }) =>
      page(
        'sends',
        await work(async (w) => {
          const filter = { email: query.email ?? null, status: query.status ?? null }
          const { rows, nextCursor } = await listSends(w, filter, pageOfQuery(query))
          return { rows: await withReactions(w, rows), nextCursor }
        }),
      ),
  }),
  route({
    name: 'getSend',
    method: 'GET',
    path: '/sends/:id',
    summary: 'Show an email and what its recipient did',
    params: Id,
    answers: { 200: z.object({ send: SendShape }) },
    refusals: [404],
    handle: async ({ params, work }) =>
      ok({ send: (await work(async (w) => withReactions(w, [await findSend(w, params.id)])))[0] }),
  }),
  route({
    name: 'cancelSend',
    method: 'DELETE',
    path: '/sends/:id',
    summary: 'Cancel a pending email of a call with all of its copies',
    params: Id,
    answers: {
      200: z.object({
        cancelled: z.boolean().describe('false: it was cancelled before'),
        notCancelled: z
          .array(
            z.object({
              id: z.string().describe('Id of the email'),
              to: z.string().describe('The address of its recipient'),
              status: z.string().describe('`pending`: it is being sent; otherwise its end'),
            }),
          )
          .optional()
          .describe('Copies that are being sent or were sent; absent if there are none'),
      }),
    },
    refusals: [404, 409],
    handle: async ({ params, work }) => {
      try {
        const notCancelled = await work((w) => cancelSend(w, params.id))
        return ok({ cancelled: true, ...(notCancelled.length > 0 && { notCancelled }) })
      } catch (problem) {
        if (!(problem instanceof Problem && problem.kind === 'conflict')) throw problem
        // Read afterwards: a concurrent call may have cancelled it.
        const { status, error } = await work((w) => findSend(w, params.id))
        if (status !== 'failed' || error !== cancelledError) throw problem
        return ok({ cancelled: false })
      }
    },
  }),
]
