import type { SendMails } from '../journeys/journeys.ts'
import { Problem } from '../lib/problem.ts'
import { type Queued, queueMails } from '../messages/messages.ts'
import { senderChoice } from '../senders/senders.ts'
import type { App, Work } from '../store/work.ts'

/** Returns the id of a project. Old versions of journeys name projects by name; new ones by id. */
const idOf = async (work: Work, ref: string): Promise<string> => {
  try {
    return (await work.sources.project?.(work, ref))?.id ?? ref
  } catch (error) {
    if (error instanceof Problem) return ref
    throw error
  }
}

const outcomeOf = (queued: Queued): string => {
  if (queued.status === 'suppressed') return `suppressed: ${queued.reason}`
  if (queued.status === 'failed') return `failed: ${queued.error}`
  return queued.status === 'known' ? 'was queued before' : 'queued'
}

/**
 * Queues the emails of `send-email` steps: at most one for each run and step, from the step's sender or the account's default one. If an
 * email can't be sent, `svc sends list` shows the reason, and the run continues.
 */
export const journeyMails =
  (app: Pick<App, 'config' | 'projects'>): SendMails =>
  async (work, mails) => {
    const ids = new Map<string, string>()
    for (const { project } of mails) if (!ids.has(project)) ids.set(project, await idOf(work, project))
    const queued = await queueMails(
      app,
      work,
      mails.map(({ key, journeyId, contact: { email, fields }, data, project, type, subject, sender, replyTo }) => ({
        to: email,
        type,
        subject,
        replyTo,
        ...(sender !== undefined && senderChoice(sender)),
        key: `run:${key}`,
        source: { kind: 'journey', id: journeyId },
        content: { projectId: ids.get(project)!, mergeData: { email, ...fields, ...data } },
      })),
    )
    return queued.map(outcomeOf)
  }
