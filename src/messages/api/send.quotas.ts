import { secondsToNextMonth, takeQuotas } from '../../accounts/accounts.ts'
import { Problem } from '../../lib/problem.ts'
import type { App, Work } from '../../store/work.ts'
import { sendQuotaUsedUp } from '../outbox/outbox.queue.ts'

/** The monthly quotas that a call takes. */
export const callQuotas = ['sendApiCalls', 'sends'] as const

const sentences = { sendApiCalls: 'Monthly Send API quota for your plan exceeded', sends: sendQuotaUsedUp } as const

const requireAll = (now: Date, usedUp: readonly string[]): void => {
  const quota = callQuotas.find((name) => usedUp.includes(name))
  if (quota) throw new Problem('limited', sentences[quota], { retryAfterSeconds: secondsToNextMonth(now) })
}

/** Throws Problem `limited` if one of the quotas of a call is used up. */
export const requireQuota = ({ now }: Pick<App, 'now'>, usedUp: readonly string[]): void => requireAll(now(), usedUp)

/** Counts calls and emails. Throws Problem `limited` if a quota has too little left for all of them. */
export const takeCallQuotas = async (work: Work, used: Record<(typeof callQuotas)[number], number>): Promise<void> => {
  const units = Object.fromEntries(Object.entries(used).filter(([, count]) => count > 0))
  if (Object.keys(units).length > 0) requireAll(work.now, [...(await takeQuotas(work, units)).keys()])
}
