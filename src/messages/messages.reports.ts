import { lockRecipient } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { countEnded } from '../results/results.rows.ts'
import type { RowOf } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import { utcDay } from '../store/tallies.ts'
import type { App, Work } from '../store/work.ts'
import { suppressAndFlag } from '../suppressions/suppressions.ts'
import { messages } from './messages.columns.ts'
import { causeOf } from './messages.ended.ts'
import { holdRecipient } from './messages.recipient.ts'

/** The kind of a report. `hard` is a permanent failure, `soft` a temporary one, after which the server gave up. */
type ReportKind = 'hard' | 'soft' | 'delayed' | 'complaint' | 'other'

/** What a report about a message says. */
export interface Report {
  kind: ReportKind
  /** The bounce addresses (VERP) that it was sent to or names: a message id, and the stamp that proves it. */
  stamps: { id: string; stamp: string }[]
  /** The parts of the original's Message-ID, `<msg_…@domain>`. */
  original: { id: string; domain: string } | null
  /** Identifies the report; it does not depend on how the report was delivered. */
  fingerprint: string
}

/** The outcome of a message that was read. It is `known` if the report was recorded before, or needs no action. */
export type ReportOutcome = 'bounced' | 'delayed' | 'complained' | 'unmatched' | 'known'

const reported = columns(messages, ['accountId', 'id'])

type Reported = RowOf<typeof reported.types>

const outcomes = {
  hard: 'bounced',
  soft: 'bounced',
  delayed: 'delayed',
  complaint: 'complained',
  other: 'known',
} as const

/** An address with `softLimit` soft bounces within `softDays` days is treated like one with a hard bounce. */
const softLimit = 3
const softDays = 7

const readReported = preparedStatement(
  'message-of-report',
  {
    row: { ...reported.types, domain: 'text' },
    parameters: { id: 'text', accountId: 'text?' },
  },
  `select ${reported.list}, split_part(from_email, '@', -1) as domain from messages
   where id = :id and (:accountId::text is null or account_id = :accountId) limit 1`,
)

/**
 * Returns the message that a report is about, or null. A bounce address with a valid stamp identifies it; a report without a bounce
 * address is matched by the Message-ID of the original. A report that has only wrong stamps is a forgery and matches nothing.
 */
const findReported = async (
  { sql, tokens }: Pick<App, 'sql' | 'tokens'>,
  { stamps, original }: Report,
  accountId: string | null,
): Promise<Reported | null> => {
  const proven = stamps.find(({ id, stamp }) => tokens.isStamp('bounce', id, stamp))
  if (stamps.length > 0 ? !proven : !original) return null
  const rows = await sql(readReported, { id: proven?.id ?? original!.id, accountId })
  return rows.find(({ domain }) => proven || domain === original!.domain) ?? null
}

const findReport = statement(
  'find-report',
  { parameters: { accountId: 'text', id: 'text', fingerprint: 'text' } },
  'select from message_reports where account_id = :accountId and message_id = :id and fingerprint = :fingerprint',
)

const isKnown = async ({ sql }: Work, { accountId, id }: Reported, { fingerprint }: Report) =>
  (await sql(findReport, { accountId, id, fingerprint })).length > 0

const countSoftBounces = statement(
  'count-soft-bounces',
  {
    row: { failures: 'int8' },
    parameters: { accountId: 'text', email: 'text', now: 'timestamptz', softDays: 'float8' },
  },
  `select count(*) as failures from messages m join message_reports r on r.account_id = m.account_id and r.message_id = m.id
   where m.account_id = :accountId and m.email = :email and r.kind = 'soft' and r.created_at > :now::timestamptz - :softDays * interval '1 day'`,
)

/** Returns whether the address has reached the limit of soft bounces. The lock makes concurrent reports count one after another. */
const hasReachedSoftLimit = async (work: Work, email: string): Promise<boolean> => {
  const { sql, accountId, now } = work
  await lockRecipient(work, email)
  const [row] = await sql(countSoftBounces, { accountId, email, now, softDays })
  return row!.failures >= softLimit
}

const addReport = statement(
  'add-report',
  {
    row: { isAdded: 'bool' },
    parameters: { accountId: 'text', id: 'text', fingerprint: 'text', kind: 'text', now: 'timestamptz' },
  },
  `insert into message_reports (account_id, message_id, fingerprint, kind, created_at)
   select account_id, id, :fingerprint, :kind, :now from messages where account_id = :accountId and id = :id
   on conflict do nothing returning true as "isAdded"`,
)

const kindsOf = { bounced: ['hard', 'soft'], complained: ['complaint'] } as const

const lockMessage = statement(
  'lock-message-of-report',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from messages where account_id = :accountId and id = :id for no key update',
)

const countFirst = statement(
  'count-first-report',
  { parameters: { accountId: 'text', id: 'text', metric: 'text', kinds: '_text', now: 'timestamptz' } },
  countEnded(`
    select m.account_id, m.project_id, ${causeOf('m')} as cause, ${utcDay(':now::timestamptz')} as day, :metric as metric, 1 as count
    from messages m where m.account_id = :accountId and m.id = :id and (
      select count(*) from message_reports r where r.account_id = :accountId and r.message_id = :id and r.kind = any(:kinds)
    ) = 1`),
)

/**
 * Counts a message as bounced or complained once, with the first report of that kind, which this transaction has added. Locks the
 * message: call it last.
 */
export const countReport = async (work: Work, id: string, metric: keyof typeof kindsOf): Promise<void> => {
  const { sql, accountId, now } = work
  await sql(lockMessage, { accountId, id })
  await sql(countFirst, { accountId, id, metric, kinds: kindsOf[metric], now })
}

/** Records a report of a message, and suppresses the message's recipient if necessary. The recipient that the report names is ignored. */
const record = async (work: Work, id: string, { kind, fingerprint }: Report): Promise<ReportOutcome> => {
  const { sql, accountId, now } = work
  // An erased address can't be suppressed.
  const email = outcomes[kind] === 'bounced' || outcomes[kind] === 'complained' ? await holdRecipient(work, id) : null
  const added = await sql(addReport, { accountId, id, fingerprint, kind, now })
  if (added.length === 0) return 'known'
  if (email !== null) {
    if (kind === 'hard' || (kind === 'soft' && (await hasReachedSoftLimit(work, email))))
      await suppressAndFlag(work, email, 'bounced')
    if (kind === 'complaint') await suppressAndFlag(work, email, 'complained')
  }
  if (kind === 'hard' || kind === 'soft') await countReport(work, id, 'bounced')
  if (kind === 'complaint') await countReport(work, id, 'complained')
  return outcomes[kind]
}

/**
 * Finds the message that a report is about, in one account or (null) in all, and records the report in a unit of work of that
 * account. `dryRun` only returns the outcome. A report that was recorded before changes nothing.
 */
export const recordReport = async (
  app: App,
  report: Report,
  { accountId, actor, dryRun = false }: { accountId: string | null; actor: string; dryRun?: boolean },
): Promise<ReportOutcome> => {
  const reported = await findReported(app, report, accountId)
  if (!reported) return 'unmatched'
  const foresee = async (work: Work) => ((await isKnown(work, reported, report)) ? 'known' : outcomes[report.kind])
  try {
    return await app.work(reported.accountId, actor, (work) =>
      dryRun ? foresee(work) : record(work, reported.id, report),
    )
  } catch (error) {
    // The account is being deleted, or has moved.
    if (error instanceof Problem && ['not_found', 'gone'].includes(error.kind)) return 'unmatched'
    throw error
  }
}
