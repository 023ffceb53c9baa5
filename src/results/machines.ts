import { readDayCounts, sumCounts, tallying, utcDay } from '../store/tallies.ts'
import type { AccountSql } from '../store/work.ts'

/*
 * Opens and clicks of machines, apart from those of people. They are counted by day for the account, the project, and the broadcast or
 * journey that caused the email.
 */

const subject = 'machines'

/** Emails that machines opened, and links that they followed, each once for an email. */
export interface MachineActions {
  opens: number
  clicks: number
}

/**
 * Returns the SQL that counts the rows of `from`, which have account_id, project_id, kind (`open`, `click`) and at. `cause` is an
 * SQL expression.
 */
export const tallyingMachines = (from: string, cause: string, where: string): string =>
  tallying(`select account_id, s.subject, ${utcDay('at')}, jsonb_build_object(kind || 's', 1)
     from ${from} cross join lateral (values ('${subject}'), ('${subject}:' || project_id), ('${subject}:' || ${cause})) s(subject)
     where s.subject is not null and ${where}`)

/** What views show of machines beside the results of people: nothing if there is nothing. */
export interface BesideResults {
  machines?: MachineActions
}

export const besideResults = (machines: MachineActions): BesideResults =>
  machines.opens + machines.clicks > 0 ? { machines } : {}

/**
 * Returns what machines did with the emails of a project, a broadcast or a journey (id), or of the account (null), on the UTC day
 * `from` (`2026-11-23`) or later; null counts all days.
 */
export const machineActions = async (
  work: AccountSql,
  id: string | null,
  from: string | null = null,
): Promise<BesideResults> => {
  const { opens = 0, clicks = 0 } = sumCounts(
    await readDayCounts(work, id === null ? subject : `${subject}:${id}`, from),
  )
  return besideResults({ opens, clicks })
}
