import type { OptOut, Suppressing } from '../../contacts/contacts.ts'
import { statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import { suppressAddresses } from './suppress.ts'

const readSuppressed = statement<{ email: string }>(
  'suppressed-of-addresses',
  { email: 'text' },
  `select distinct s.email from unnest($2::text[]) as e(email)
   join suppressions s on s.account_id = $1 and s.email = e.email and s.topic_id = ''`,
)

/** Suppresses addresses, each since the time when it opted out. Returns how many were not suppressed for that reason before. */
export const suppressSince = async (work: Work, optOuts: readonly OptOut[]): Promise<number> => {
  let added = 0
  for (const [reason, same] of Map.groupBy(optOuts, (optOut) => optOut.reason)) {
    const emails = same.map(({ email }) => email)
    const since = same.map(({ at }) => (at === null ? null : new Date(Math.min(at, work.now.getTime()))))
    added += (await suppressAddresses(work, emails, reason, since)).length
  }
  return added
}

/** What imports of contacts do with suppressions. */
export const suppressing: Suppressing = {
  suppress: async (work, optOuts) => void (await suppressSince(work, optOuts)),
  suppressedOf: async ({ sql, accountId }, emails) =>
    emails.length === 0
      ? new Set()
      : new Set((await sql(readSuppressed, [accountId, emails])).map(({ email }) => email)),
}
