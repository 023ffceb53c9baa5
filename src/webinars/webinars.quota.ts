import { countUse, quotaState, showsCourses } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'

const refusals = {
  'not in plan': "Live sessions aren't included in your plan",
  'used up': 'Monthly broadcast minutes for your plan used up',
}

/**
 * Checks the live-session quota: whether minutes are left, and whether the plan can attach a course. It uses no minutes. Throws
 * Problem `forbidden` with a message for each reason (docs/reference/api.md#post-webinars).
 */
export const requireLive = async (
  reader: Pick<Work, 'sql' | 'accountId' | 'now'>,
  { withCourse }: { withCourse: boolean },
): Promise<void> => {
  const state = await quotaState(reader, 'broadcastMinutes')
  if (state !== 'left') throw new Problem('forbidden', refusals[state])
  if (withCourse && !(await showsCourses(reader))) {
    throw new Problem('forbidden', "Your plan can't attach a course to a webinar")
  }
}

/** Counts the broadcast's minutes, rounded up, even beyond the quota: the broadcast has already happened. Call it last in the unit of work. */
export const countBroadcast = async (work: Work, startedAt: Date): Promise<void> => {
  const minutes = Math.ceil((work.now.getTime() - startedAt.getTime()) / 60_000)
  if (minutes > 0) await countUse(work, 'broadcastMinutes', minutes)
}
