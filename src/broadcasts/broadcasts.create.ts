import { z } from 'zod'
import { findList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { invalid } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { countRecipients } from '../messages/messages.ts'
import type { Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'
import { type BroadcastView, showBroadcast } from './broadcasts.find.ts'

const timePattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

export const NewBroadcast = z.object({
  /** Default: the name of the project. */
  name: text(200).min(1).optional(),
  /** Id or name, as `project`. */
  list: text(200),
  project: text(200),
  subject: text(500).min(1).optional(),
  /** An ISO time. Default: the broadcast begins when it is sent. */
  at: z
    .string()
    .refine((value) => timePattern.test(value) && !Number.isNaN(Date.parse(value)), {
      message: 'must be an ISO time such as 2026-12-01T09:00:00Z',
    })
    .transform((value) => new Date(value))
    .optional(),
  /** Messages per minute. */
  rate: z.coerce
    .number('must be a whole number of emails per minute')
    .int('must be a whole number of emails per minute')
    .min(1)
    .max(1_000_000)
    .optional(),
})
export type NewBroadcast = z.output<typeof NewBroadcast>

/**
 * Creates a draft; only `sendBroadcast` sends it. Throws Problem `not_found` for the list or the project, `invalid`
 * where the time has passed.
 */
export const createBroadcast = async (work: Work, input: NewBroadcast): Promise<BroadcastView> => {
  const { accountId, now } = work
  const { subject = null, rate = null, at = null } = input
  const { id: listId } = await findList(work, input.list)
  const project = await findProject(work, input.project)
  if (at && at <= now) throw invalid('at must be in the future')
  const { recipients } = await countRecipients(work, listId)
  const [em, { Broadcast }] = await work.em(import('./broadcasts.entities.ts'))
  const broadcast = em.create(Broadcast, {
    id: newId('bct', now.getTime()),
    accountId,
    name: input.name ?? project.name,
    status: 'draft',
    listId,
    projectId: project.id,
    subject,
    rate,
    scheduledAt: at,
    recipients,
    createdAt: now,
  })
  await em.flush()
  return showBroadcast(work, broadcast.id)
}
