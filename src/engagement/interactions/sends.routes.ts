import { z } from 'zod'
import { ok, page, pageOfQuery, pageQuery, pageShape, route } from '../../http/route.ts'
import { emailAddress } from '../../lib/address.ts'
import { idText } from '../../lib/text.ts'
import { cancelledError, cancelScheduled, findSend, listSends, type SendView } from '../../messages/messages.ts'
import type { Work } from '../../store/work.ts'
import { readReactions } from './reactions.ts'

const EpochMs = z.int().nullable()

const Status = z.enum(['pending', 'sent', 'failed', 'suppressed'])

const SendShape = z
  .object({
    id: z.string(),
    to: z.string().meta({ description: 'The address of the recipient; empty after its erasure' }),
    subject: z.string(),
    type: z.enum(['transactional', 'marketing']),
    status: Status,
    error: z.string().nullable().meta({ description: 'Why it failed or was suppressed; else null' }),
    createdAt: z.int().meta({ description: 'epoch ms' }),
    sentAt: EpochMs.meta({ description: 'When the relay accepted it, epoch ms; null: it was not sent' }),
    scheduledAt: EpochMs.meta({ description: 'The time that its call asked for, epoch ms; null: as soon as possible' }),
    opened: z.boolean().meta({ description: 'A person opened it; clicks and answers count too' }),
    clicked: z.boolean().meta({ description: 'A person followed one of its links' }),
    bounced: z.boolean().meta({ description: 'A report says that it was not delivered' }),
  })
  .meta({ id: 'SendRecord' })

const Id = z.object({ id: idText() })

/** Returns the sends with what their recipients did. */
const withReactions = async (work: Work, sends: readonly SendView[]) => {
  const reactions = await readReactions(
    work,
    sends.map(({ id }) => id),
  )
  return sends.map(({ bounced, ...send }) => ({ ...send, ...reactions.get(send.id)!, bounced }))
}

/** /sends (docs/reference/api.md#sends). */
export const routes = [
  route({
    method: 'GET',
    path: '/sends',
    summary: 'List the emails of the account, newest first',
    query: z.object({
      email: emailAddress().optional().meta({ description: 'Only emails to this address' }),
      status: Status.optional().meta({ description: 'Only emails with this status' }),
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
    method: 'DELETE',
    path: '/sends/:id',
    summary: 'Cancel a scheduled email with all copies of its call',
    params: Id,
    answers: {
      200: z.object({
        cancelled: z.boolean().meta({ description: 'false: it was cancelled before' }),
        notCancelled: z
          .array(z.object({ id: z.string(), to: z.string(), status: z.string() }))
          .optional()
          .meta({ description: 'Copies that are being sent or were sent. Absent: none' }),
      }),
    },
    refusals: [404, 409],
    handle: async ({ params, work }) =>
      ok(
        await work(async (w) => {
          const { status, error } = await findSend(w, params.id)
          if (status === 'failed' && error === cancelledError) return { cancelled: false }
          const notCancelled = await cancelScheduled(w, params.id)
          return { cancelled: true, ...(notCancelled.length > 0 && { notCancelled }) }
        }),
      ),
  }),
]
