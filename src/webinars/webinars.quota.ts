import { countUse, quotaStanding, showsCourses } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'

const sentences = {
  'not in plan': "Live sessions aren't included in your plan",
  'used up': 'Monthly broadcast minutes for your plan used up',
}

/**
 * The live-session quota: whether the plan has minutes left, and may tie a course to a webinar. Counts nothing. Throws
 * Problem `forbidden` with the check's own message (api.md section 4, Webinars).
 */
export const demandLive = async (
  reader: Pick<Work, 'sql' | 'accountId' | 'now'>,
  { withCourse }: { withCourse: boolean },
): Promise<void> => {
  const standing = await quotaStanding(reader, 'broadcastMinutes')
  if (standing !== 'left') throw new Problem('forbidden', sentences[standing])
  if (withCourse && !(await showsCourses(reader))) {
    throw new Problem('forbidden', "Your plan can't attach a course to a webinar")
  }
}

/** Counts a broadcast in begun minutes, also beyond what was left: it has been seen. Last in the unit of work. */
export const countBroadcast = async (work: Work, startedAt: Date): Promise<void> => {
  const minutes = Math.ceil((work.now.getTime() - startedAt.getTime()) / 60_000)
  if (minutes > 0) await countUse(work, 'broadcastMinutes', minutes)
}
