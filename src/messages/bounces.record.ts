import { Problem } from '../lib/problem.ts'
import { lockKey } from '../store/locks.ts'
import type { App, Work } from '../store/work.ts'
import type { Report } from './bounces.report.ts'
import { condemnAddress } from './suppressions.ts'

/** What became of a message that was read. `known`: it says nothing new, or nothing that anything follows from. */
export type ReportOutcome = 'bounced' | 'delayed' | 'complained' | 'unmatched' | 'known'

interface Reported {
  accountId: string
  id: string
}

const outcomes = {
  hard: 'bounced',
  soft: 'bounced',
  delayed: 'delayed',
  complaint: 'complained',
  other: 'known',
} as const

/** So many soft failures of an address within so many days are one for good. */
const softLimit = 3
const softDays = 7

/**
 * The message that a report is about: that of its bounce address, if the stamp proves it, else that of the original's
 * Message-ID; null where there is none. An address with a wrong stamp makes a forgery of the whole.
 */
const findReported = async (
  { sql, tokens }: Pick<App, 'sql' | 'tokens'>,
  { stamps, original }: Report,
  accountId: string | null,
): Promise<Reported | null> => {
  const proven = stamps.find(({ id, stamp }) => tokens.isStamp('bounce', id, stamp))
  if (stamps.length > 0 ? !proven : !original) return null
  const rows = await sql<Reported & { domain: string }>(
    `select account_id as "accountId", id, split_part(from_email, '@', 2) as domain from messages
     where id = $1 and ($2::text is null or account_id = $2) limit 1`,
    [proven?.id ?? original!.id, accountId],
    'message-of-report',
  )
  return rows.find(({ domain }) => proven || domain === original!.domain) ?? null
}

const isKnown = async ({ sql }: Pick<App, 'sql'>, { accountId, id }: Reported, { fingerprint }: Report) =>
  (
    await sql('select from message_reports where account_id = $1 and message_id = $2 and fingerprint = $3', [
      accountId,
      id,
      fingerprint,
    ])
  ).length > 0

/** Whether the address has failed so often that it is given up. Two reports at once count one after the other. */
const isGivenUp = async ({ sql, accountId, now }: Work, email: string): Promise<boolean> => {
  await sql(`select pg_advisory_xact_lock(${lockKey('recipient', '$1')})`, [`${accountId} ${email}`])
  const [row] = await sql<{ failures: number }>(
    `select count(*) as failures from messages m join message_reports r on r.account_id = m.account_id and r.message_id = m.id
     where m.account_id = $1 and m.email = $2 and r.kind = 'soft' and r.created_at > $3::timestamptz - $4 * interval '1 day'`,
    [accountId, email, now, softDays],
  )
  return row!.failures >= softLimit
}

/** Records a report of a message, and what follows from it for the message's own recipient, whomever the report names. */
const record = async (work: Work, id: string, { kind, fingerprint }: Report): Promise<ReportOutcome> => {
  const { sql, accountId, now } = work
  const [added] = await sql<{ email: string }>(
    `with added as (
       insert into message_reports (account_id, message_id, fingerprint, kind, created_at)
       values ($1, $2, $3, $4, $5) on conflict do nothing returning 1
     )
     select m.email from messages m, added where m.account_id = $1 and m.id = $2`,
    [accountId, id, fingerprint, kind, now],
  )
  if (!added) return 'known'
  const { email } = added
  // An address that was erased since is in no message any more, and so nobody's to suppress.
  if (email !== '') {
    if (kind === 'hard' || (kind === 'soft' && (await isGivenUp(work, email))))
      await condemnAddress(work, email, 'bounced')
    if (kind === 'complaint') await condemnAddress(work, email, 'complained')
  }
  return outcomes[kind]
}

/**
 * Finds the message that a report is about, of one account or (null) of all, and records it, in a unit of work of that
 * account; `dryRun` only looks. A report that was recorded before changes nothing.
 */
export const recordReport = async (
  app: App,
  report: Report,
  { accountId, actor, dryRun = false }: { accountId: string | null; actor: string; dryRun?: boolean },
): Promise<ReportOutcome> => {
  const reported = await findReported(app, report, accountId)
  if (!reported) return 'unmatched'
  if (dryRun) return (await isKnown(app, reported, report)) ? 'known' : outcomes[report.kind]
  try {
    return await app.work(reported.accountId, actor, (work) => record(work, reported.id, report))
  } catch (error) {
    // Its account is being deleted.
    if (error instanceof Problem && error.kind === 'missing') return 'unmatched'
    throw error
  }
}
