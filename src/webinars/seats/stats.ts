import { datesBetween } from '../../lib/days.ts'
import { statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { Work } from '../../store/work.ts'

/** Numbers of registrations by their status now. */
interface Numbers {
  /** The sum of the others. */
  registrations: number
  confirmed: number
  waitlisted: number
  cancelled: number
}

/** Numbers of a webinar's registrations (docs/reference/results.md#webinars), which are the sums of its UTC days; `days` has no gaps. */
export interface WebinarStats extends Numbers {
  days: ({ date: string } & Numbers)[]
}

const reading = statement<{ day: string } & Numbers>(
  'count-registrations-by-day',
  { day: 'text', registrations: 'int8', confirmed: 'int8', waitlisted: 'int8', cancelled: 'int8' },
  `select ${utcDay('created_at')}::text as day, count(*) as registrations,
     count(*) filter (where status = 'confirmed') as confirmed,
     count(*) filter (where status = 'waitlisted') as waitlisted,
     count(*) filter (where status = 'cancelled') as cancelled
   from webinar_registrations where account_id = $1 and webinar_id = $2 group by 1 order by 1`,
)

const none: Numbers = { registrations: 0, confirmed: 0, waitlisted: 0, cancelled: 0 }

/** Counts the registrations of a webinar, by the day on which they were made. */
export const webinarStats = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  webinarId: string,
): Promise<WebinarStats> => {
  const counted = await sql(reading, [accountId, webinarId])
  const stats: WebinarStats = { ...none, days: [] }
  if (counted.length === 0) return stats
  const byDate = new Map(counted.map(({ day, ...numbers }) => [day, numbers]))
  for (const date of datesBetween(counted[0]!.day, counted.at(-1)!.day)) {
    const numbers = byDate.get(date) ?? none
    stats.days.push({ date, ...numbers })
    for (const name of ['registrations', 'confirmed', 'waitlisted', 'cancelled'] as const) stats[name] += numbers[name]
  }
  return stats
}
