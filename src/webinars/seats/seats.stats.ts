import { datesBetween } from '../../lib/days.ts'
import type { RowOf } from '../../store/column-types.ts'
import { statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { AccountSql } from '../../store/work.ts'

/** Numbers of registrations by their status now. `registrations` is the sum of the others. */
const statuses = ['registrations', 'confirmed', 'waitlisted', 'cancelled'] as const
/** After the start also those whose person has attended so far. */
const started = [...statuses, 'attended'] as const

type Numbers<Name extends string> = Record<Name, number>
type Stats<Name extends string> = Numbers<Name> & { days: ({ date: string } & Numbers<Name>)[] }

/** Numbers of a webinar's registrations (docs/reference/results.md#webinars), which are the sums of its UTC days; `days` has no gaps. */
type WebinarStats = Stats<(typeof statuses)[number]> | Stats<(typeof started)[number]>

const dayTypes = {
  day: 'text',
  registrations: 'int8',
  confirmed: 'int8',
  waitlisted: 'int8',
  cancelled: 'int8',
  attended: 'int8',
  hasStarted: 'bool',
} as const
type Row = RowOf<typeof dayTypes>

const countRegistrationsByDay = statement(
  'count-registrations-by-day',
  { row: dayTypes, parameters: { accountId: 'text', webinarId: 'text' } },
  `select ${utcDay('created_at')}::text as day, count(*) as registrations,
     count(*) filter (where status = 'confirmed') as confirmed,
     count(*) filter (where status = 'waitlisted') as waitlisted,
     count(*) filter (where status = 'cancelled') as cancelled,
     count(*) filter (where seen is not null) as attended,
     exists (select from webinars where account_id = :accountId and id = :webinarId and started_at is not null) as "hasStarted"
   from webinar_registrations where account_id = :accountId and webinar_id = :webinarId group by 1 order by 1`,
)

const numbersOf = <Name extends string>(names: readonly Name[], of: (name: Name) => number) =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as Numbers<Name>

const statsOf = <Name extends keyof Row>(
  rows: readonly (Row & Numbers<Name>)[],
  names: readonly Name[],
): Stats<Name> => {
  const byDate = new Map(rows.map((row) => [row.day, row]))
  const dates = rows.length === 0 ? [] : datesBetween(rows[0]!.day, rows.at(-1)!.day)
  const days = Array.from(dates, (date) => ({ date, ...numbersOf(names, (name) => byDate.get(date)?.[name] ?? 0) }))
  return { ...numbersOf(names, (name) => rows.reduce((sum, row) => sum + row[name], 0)), days }
}

/** Counts the registrations of a webinar, by the day on which they were made. */
export const webinarStats = async ({ sql, accountId }: AccountSql, webinarId: string): Promise<WebinarStats> => {
  const rows = await sql(countRegistrationsByDay, { accountId, webinarId })
  return rows[0]?.hasStarted ? statsOf(rows, started) : statsOf(rows, statuses)
}
