import type { SendMails } from '../journeys/steps.out.ts'
import { Problem } from '../lib/problem.ts'
import { type Queued, queueMails } from '../messages/messages.queue.ts'
import type { App, Work } from '../store/work.ts'

/** A version that was applied before names were resolved has the project's name: it is looked up as it was written. */
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
 * The mails of journeys' `send-email` steps: one for a run and step, ever, from the account's default sender. A mail that
 * can't go stands in `svc sends list` with its reason, and the run goes on.
 */
export const journeyMails =
  (app: Pick<App, 'config' | 'projects'>): SendMails =>
  async (work, mails) => {
    const ids = new Map<string, string>()
    for (const { project } of mails) if (!ids.has(project)) ids.set(project, await idOf(work, project))
    const queued = await queueMails(
      app,
      work,
      mails.map(({ key, journeyId, contact: { email, fields }, project, type, subject }) => ({
        ...{ to: email, type, subject },
        key: `run:${key}`,
        source: { kind: 'journey', id: journeyId },
        content: { projectId: ids.get(project)!, mergeData: { email, ...fields } },
      })),
    )
    return queued.map(outcomeOf)
  }
