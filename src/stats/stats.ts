import { accountUsage } from '../accounts/accounts.ts'
import { contactsByDay } from '../contacts/contacts.ts'
import { dealsByDay } from '../deals/deals.ts'
import { deliveriesByDay } from '../deliveries/deliveries.ts'
import { dateOf } from '../lib/days.ts'
import { type MachineActions, type MailStats, machineActions, mailStats } from '../results/results.ts'
import type { Work } from '../store/work.ts'

const dayMs = 86_400_000

/** The longest period, in days. */
export const mostDays = 366

/** What `svc stats --json` prints (docs/reference/cli.md#statistics). */
export interface Stats {
  /** The period in epoch ms: `from` is the start of its first UTC day, `to` the end of the current one. */
  from: number
  to: number
  /** `total` is the number of addresses in the account now. */
  contacts: { total: number; added: number; left: number }
  mail: MailStats
  /** Opens and clicks of machines, which `mail` leaves out. It is absent if there were none. */
  machines?: MachineActions
  /** `open` and `value`: now. */
  deals: { open: number; won: number; lost: number; value: Readonly<Record<string, number>> }
  deliveries: { delivered: number; exhausted: number; p50Ms: number | null; p99Ms: number | null }
  quotas: Awaited<ReturnType<typeof accountUsage>>
}

/** A number for each day of the period, by what it counts. */
export interface StatsByDay {
  contacts: Record<'added' | 'left', number[]>
  deals: Record<'won' | 'lost', number[]>
  deliveries: Record<'delivered' | 'exhausted', number[]>
}

/** Returns a number for each date of a metric. Dates without a row have 0. */
const series = <Name extends string>(
  dates: readonly string[],
  days: readonly ({ date: string } & Record<Name, number>)[],
  names: readonly Name[],
): Record<Name, number[]> => {
  const byDate = new Map(days.map((day) => [day.date, day]))
  return Object.fromEntries(names.map((name) => [name, dates.map((date) => byDate.get(date)?.[name] ?? 0)])) as Record<
    Name,
    number[]
  >
}

/** Returns the statistics of the account for the last `count` UTC days, the current one included. */
export const readStats = async (work: Work, count: number): Promise<{ stats: Stats; byDay: StatsByDay }> => {
  const to = (Math.floor(work.now.getTime() / dayMs) + 1) * dayMs
  const from = to - count * dayMs
  const dates = Array.from({ length: count }, (_, day) => dateOf(from + day * dayMs))
  const first = dates[0]!
  const quotas = await accountUsage(work, work.accountId)
  const contacts = await contactsByDay(work, first)
  const mail = await mailStats(work, { from: new Date(from), to: work.now })
  const { days: dealDays, ...deals } = await dealsByDay(work, first)
  const { days: deliveryDays, ...deliveries } = await deliveriesByDay(work, first)
  const total = quotas.find(({ quota }) => quota === 'contacts')?.used ?? 0
  return {
    stats: {
      from,
      to,
      contacts: { total, added: contacts.added, left: contacts.left },
      mail,
      ...(await machineActions(work, null, first)),
      deals,
      deliveries,
      quotas,
    },
    byDay: {
      contacts: series(dates, contacts.days, ['added', 'left']),
      deals: series(dates, dealDays, ['won', 'lost']),
      deliveries: series(dates, deliveryDays, ['delivered', 'exhausted']),
    },
  }
}
