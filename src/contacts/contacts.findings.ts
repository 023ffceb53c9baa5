import type { Sql } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { type Verdict, verdictOf } from './contacts.verdict.ts'

/*
 * What mail has shown of an address is known whether or not the address is in a list. It is kept apart from the verdict, and
 * each verdict is joined with it: a later verification asks DNS and could not find it out again.
 */

export type Finding = 'hard_bounced' | 'complained'

/** A verdict on an address of an account. */
export interface Judged extends Verdict {
  accountId: string
  email: string
}

/** The verdicts, each with what mail has shown of its address. */
export const withFindings = async <Row extends Judged>(sql: Sql, judged: readonly Row[]): Promise<Row[]> => {
  const rows = await sql<{ accountId: string; email: string; findings: Finding[] }>(
    `select f.account_id as "accountId", f.email, array_agg(f.finding) as findings
     from address_findings f join (
       select * from jsonb_to_recordset($1::jsonb) as j("accountId" text, email text)
     ) j on f.account_id = j."accountId" and f.email = j.email
     group by f.account_id, f.email`,
    [JSON.stringify(judged.map(({ accountId, email }) => ({ accountId, email })))],
    'findings-of',
  )
  if (rows.length === 0) return [...judged]
  const known = new Map(rows.map(({ accountId, email, findings }) => [`${accountId} ${email}`, findings]))
  return judged.map((row) => {
    const findings = known.get(`${row.accountId} ${row.email}`)
    return findings ? { ...row, ...verdictOf([...row.reasons, ...findings]) } : row
  })
}

/** The address is locked first, so that of two changes the second sees the first. No contact changes: no event fires. */
const changeVerdict = async (
  { sql, accountId, now }: Work,
  email: string,
  change: (reasons: readonly string[]) => string[],
): Promise<void> => {
  const [held] = await sql<{ reasons: string[] | null }>(
    `select verification_reasons as reasons from addresses where account_id = $1 and email = $2 for no key update`,
    [accountId, email],
  )
  if (!held) return
  const { status, reasons } = verdictOf(change(held.reasons ?? []))
  await sql(
    `update addresses set verification_status = $3, verification_reasons = $4, verified_at = $5
     where account_id = $1 and email = $2 and (verification_status, verification_reasons) is distinct from ($3, $4)`,
    [accountId, email, status, reasons, now],
  )
}

/** Keeps what mail has shown of a normalised address: its verdict is `invalid` (`hard_bounced`) or at best `risky` from here on. */
export const addFinding = async (work: Work, email: string, finding: Finding): Promise<void> => {
  const { sql, accountId, now } = work
  await changeVerdict(work, email, (reasons) => [...reasons, finding])
  await sql(
    `insert into address_findings (account_id, email, finding, created_at) values ($1, $2, $3, $4) on conflict do nothing`,
    [accountId, email, finding, now],
  )
}

/** Takes findings back (somebody knows better): the verdict is what it would be without them. */
export const dropFindings = async (work: Work, email: string, findings: readonly Finding[]): Promise<void> => {
  const { sql, accountId } = work
  const dropped = await sql<{ finding: string }>(
    'delete from address_findings where account_id = $1 and email = $2 and finding = any($3) returning finding',
    [accountId, email, findings],
  )
  if (dropped.length === 0) return
  const gone = dropped.map(({ finding }) => finding)
  await changeVerdict(work, email, (reasons) => reasons.filter((reason) => !gone.includes(reason)))
}
