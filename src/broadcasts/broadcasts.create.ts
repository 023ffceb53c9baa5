import { z } from 'zod'
import { findList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { invalid, Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { countRecipients, demandMethod } from '../messages/messages.ts'
import { quotaLeft } from '../quotas/quotas.ts'
import type { App, Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'
import { type BroadcastView, showBroadcast } from './broadcasts.find.ts'

const timePattern = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

export const NewBroadcast = z.object({
  /** Id or name, as `project`. */
  list: text(200),
  project: text(200),
  subject: text(500).min(1).optional(),
  /** An ISO time; left out: at once. */
  at: z
    .string()
    .refine((value) => timePattern.test(value) && !Number.isNaN(Date.parse(value)), {
      message: 'must be an ISO time such as 2026-12-01T09:00:00Z',
    })
    .transform((value) => new Date(value))
    .optional(),
  /** Mails a minute. */
  rate: z.coerce
    .number('must be a whole number of mails a minute')
    .int('must be a whole number of mails a minute')
    .min(1)
    .max(1_000_000)
    .optional(),
})
export type NewBroadcast = z.output<typeof NewBroadcast>

/** What a broadcast would do as things stand. */
export interface Plan {
  listId: string
  projectId: string
  /** The list's active contacts. */
  recipients: number
  /** How many of them would get a mail; the others are suppressed. */
  mails: number
  suppressed: number
}

/**
 * Looks at what a broadcast would do, and whether it can: throws Problem `missing` for the list or the project, `invalid` where
 * the account can't send or the time has passed, `limited` where the month of its beginning has too little volume left.
 */
export const planBroadcast = async (app: App, work: Work, { list, project, at }: NewBroadcast): Promise<Plan> => {
  const { id: listId } = await findList(work, list)
  const { id: projectId } = await findProject(work, project)
  if (at && at <= work.now) throw invalid('at must be a time to come')
  await demandMethod(app, work)
  const { recipients, suppressed } = await countRecipients(work, listId)
  const mails = recipients - suppressed
  const left = await quotaLeft(work, 'sends', at ?? work.now)
  if (left !== null && mails > left) {
    const number = (count: number) => count.toLocaleString('en')
    throw new Problem(
      'limited',
      `The broadcast has ${number(mails)} recipients, and the month’s send volume has ${number(left)} left`,
      { hint: 'svc accounts usage' },
    )
  }
  return { listId, projectId, recipients, mails, suppressed }
}

/** Makes a broadcast, which begins at its time, or with the first step that is taken (`advanceBroadcast`). Throws as `planBroadcast`. */
export const createBroadcast = async (app: App, work: Work, input: NewBroadcast): Promise<BroadcastView> => {
  const { sql, accountId, now } = work
  const { listId, projectId, recipients } = await planBroadcast(app, work, input)
  const id = newId('bct', now.getTime())
  await sql(
    `insert into broadcasts (id, account_id, status, list_id, project_id, subject, rate, scheduled_at, recipients, created_at)
     values ($1, $2, 'scheduled', $3, $4, $5, $6, $7, $8, $9)`,
    [id, accountId, listId, projectId, input.subject ?? null, input.rate ?? null, input.at ?? null, recipients, now],
  )
  await sql(`select pg_notify('svc_broadcasts', '')`)
  return showBroadcast(work, id)
}
