import { holdOffErasure } from '../contacts/contacts.ts'
import { notFound } from '../lib/problem.ts'
import { findProjectMail } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import type { SentMail } from './engagement.sent.ts'

/** The actor of answers on hosted pages and through the signed API: the recipient. */
export const recipientActor = 'page:liveview'

export const noView = () => notFound('There is no such live view')

/**
 * Makes an erasure of the recipient wait for this unit of work. Throws Problem `not_found` if the recipient was erased after the
 * email was read. Call it before locking any row.
 */
export const requireRecipient = async (work: Work, { id, email }: SentMail): Promise<void> => {
  await holdOffErasure(work, email)
  if (!(await findProjectMail(work, work.accountId, id))) throw noView()
}

/** Opens a unit of work in which the recipient of an email acts. Throws Problem `not_found` if the recipient was erased meanwhile. */
export const recipientWork = <T>(app: Pick<App, 'work'>, sent: SentMail, run: (work: Work) => Promise<T>): Promise<T> =>
  app.work(sent.accountId, recipientActor, async (work) => {
    await requireRecipient(work, sent)
    return run(work)
  })
