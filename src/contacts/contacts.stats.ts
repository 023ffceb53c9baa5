import { statement } from '../store/statement.ts'
import { readDayCounts, tallying, utcDay } from '../store/tallies.ts'
import type { AccountSql, Work } from '../store/work.ts'

/*
 * Addresses by day: how many joined the account, and how many left it, unsubscribed or were suppressed. An address that leaves in several
 * of these ways counts once in any period that ends now: it is counted again under the day before on which it left (`left:2026-11-01`),
 * and a period that begins on or before that day ignores the second time.
 */

const subject = 'contacts'
const leftAgain = /^left:(.+)$/

/** Returns the SQL that counts addresses that are new to the account, if there are any, in the statement that counts contacts. */
export const tallyingAdded = (account: string, now: string, added: string): string =>
  tallying(
    `select ${account}, '${subject}', ${utcDay(`${now}::timestamptz`)}, jsonb_build_object('added', ${added}::int) where ${added}::int > 0`,
  )

/**
 * Returns the SQL that counts addresses that have left. `before` selects for each when it left before; it is null if it did not.
 */
export const tallyingLeft = (account: string, now: string, before: string): string =>
  tallying(`select ${account}, '${subject}', day, jsonb_object_agg(name, count) from (
       select day, case when before is null then 'left' else 'left:' || before end as name, count(*) as count
       from (select ${utcDay(`${now}::timestamptz`)} as day, ${utcDay('b.at')} as before from (${before}) b (at)) b
       where before is null or before < day group by 1, 2
     ) counted group by day`)

const lockLeavingAddresses = statement(
  'lock-leaving-addresses',
  { row: { email: 'text' }, parameters: { accountId: 'text', emails: '_text' } },
  `select a.email from (select distinct email collate "C" as email from unnest(:emails::text[]) e(email) order by 1) o
   cross join lateral (select email from addresses where account_id = :accountId and email = o.email for no key update) a`,
)

/**
 * Locks those of the normalised addresses that the account has, in their order, and returns them: what makes an address leave locks it
 * first, so that of two causes at once the second sees the first.
 */
export const lockLeaving = async (
  { sql, accountId }: AccountSql,
  emails: readonly string[],
): Promise<ReadonlySet<string>> =>
  new Set((await sql(lockLeavingAddresses, { accountId, emails })).map(({ email }) => email))

/** Reports addresses that were removed from the account. */
export const notifyLeft = async (work: Work, emails: readonly string[]): Promise<void> => {
  if (emails.length === 0) return
  for (const listener of await work.listeners()) await listener.addressesLeft?.(work, emails)
}

/** Addresses that joined and left on a UTC day. */
interface ContactDay {
  /** `2026-11-23` */
  date: string
  added: number
  left: number
}

interface ContactSpan {
  added: number
  left: number
  days: ContactDay[]
}

/**
 * Returns how many addresses joined the account on the UTC day `from` (`2026-11-23`) or later, and how many left it, unsubscribed or were
 * suppressed: each once, on the first of these days. An address that was removed and comes back counts again.
 */
export const contactsByDay = async (work: AccountSql, from: string): Promise<ContactSpan> => {
  const isFirst = (name: string) => name === 'left' || (leftAgain.exec(name)?.[1] ?? from) < from
  const days = (await readDayCounts(work, subject, from))
    .map(({ day, counts }) => ({
      date: day,
      added: counts.added ?? 0,
      left: Object.entries(counts).reduce((sum, [name, count]) => sum + (isFirst(name) ? count : 0), 0),
    }))
    .filter(({ added, left }) => added + left > 0)
  const total = (name: 'added' | 'left') => days.reduce((sum, day) => sum + day[name], 0)
  return { added: total('added'), left: total('left'), days }
}
