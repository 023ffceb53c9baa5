import { Problem } from '../lib/problem.ts'
import { quotaStanding, secondsToNextMonth, takeQuota } from '../quotas/quotas.ts'
import type { App, Work } from '../store/work.ts'

const refusal = (standing: 'used up' | 'not in plan', now: Date): Problem =>
  standing === 'not in plan'
    ? new Problem('forbidden', "The Embed API isn't included in your plan")
    : new Problem('limited', 'Monthly Embed API quota for your plan exceeded', {
        retryAfterSeconds: secondsToNextMonth(now),
      })

/**
 * Whether a call of an Embed route may go on (api.md section 8). Counts nothing. Throws Problem `forbidden` where the plan
 * has no Embed API, `limited` where the month's quota is used up.
 */
export const demandEmbedUnit = async ({ sql, now }: Pick<App, 'sql' | 'now'>, accountId: string): Promise<void> => {
  const at = now()
  const standing = await quotaStanding({ sql, accountId, now: at }, 'embedApi')
  if (standing !== 'left') throw refusal(standing, at)
}

/** Counts calls that succeeded, all or none, last in their unit of work. Throws as `demandEmbedUnit`: of those on the last unit one passes. */
export const takeEmbedUnits = async (work: Work, calls: number): Promise<void> => {
  const taken = await takeQuota(work, 'embedApi', calls)
  if (taken !== 'taken') throw refusal(taken, work.now)
}
