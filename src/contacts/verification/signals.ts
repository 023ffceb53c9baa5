import { typed } from '../../store/column-types.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import { resultOf, type VerificationResult } from './result.ts'

/*
 * Signals are hard bounces and complaints of an address, whether or not it is in a list. They are stored apart from verification results,
 * in `address_findings`, and added to each result: a later verification asks DNS and can't detect them, and they must hold for an
 * address that joins a list later. The price is one more statement for each write of contacts.
 */

export type AddressSignal = 'hard_bounced' | 'complained'

/** The verification result of an address of an account. */
export interface VerifiedAddress extends VerificationResult {
  accountId: string
  email: string
}

const findingsOf = preparedStatement(
  'findings-of',
  {
    row: { accountId: 'text', email: 'text', findings: typed<AddressSignal[]>('_text') },
    parameters: { asked: 'jsonb' },
  },
  `select f.account_id as "accountId", f.email, array_agg(f.finding) as findings
   from address_findings f join (
     select * from jsonb_to_recordset(:asked::jsonb) as j("accountId" text, email text)
   ) j on f.account_id = j."accountId" and f.email = j.email
   group by f.account_id, f.email`,
)

/** Returns the results with the signals of their addresses added. */
export const withSignals = async <Row extends VerifiedAddress>(sql: Sql, verified: readonly Row[]): Promise<Row[]> => {
  const asked = verified.map(({ accountId, email }) => ({ accountId, email }))
  const rows = await sql(findingsOf, { asked: JSON.stringify(asked) })
  if (rows.length === 0) return [...verified]
  const known = new Map(rows.map(({ accountId, email, findings }) => [`${accountId} ${email}`, findings]))
  return verified.map((row) => {
    const findings = known.get(`${row.accountId} ${row.email}`)
    return findings ? { ...row, ...resultOf([...row.reasons, ...findings]) } : row
  })
}

const lockReasons = statement(
  'lock-verification-reasons',
  { row: { reasons: '_text?' }, parameters: { accountId: 'text', email: 'text' } },
  'select verification_reasons as reasons from addresses where account_id = :accountId and email = :email for no key update',
)

const updateResult = statement(
  'update-verification-result',
  { parameters: { accountId: 'text', email: 'text', status: 'text', reasons: '_text', now: 'timestamptz' } },
  `update addresses set verification_status = :status, verification_reasons = :reasons, verified_at = :now
   where account_id = :accountId and email = :email and (verification_status, verification_reasons) is distinct from (:status, :reasons)`,
)

/** Locks the address first, so that the second of two changes sees the first. Contacts do not change, so no event fires. */
const changeResult = async (
  { sql, accountId, now }: Work,
  email: string,
  change: (reasons: readonly string[]) => string[],
): Promise<void> => {
  const [held] = await sql(lockReasons, { accountId, email })
  if (!held) return
  const { status, reasons } = resultOf(change(held.reasons ?? []))
  await sql(updateResult, { accountId, email, status, reasons, now })
}

const insertSignal = statement(
  'insert-address-signal',
  { parameters: { accountId: 'text', email: 'text', finding: 'text', now: 'timestamptz' } },
  `insert into address_findings (account_id, email, finding, created_at) values (:accountId, :email, :finding, :now) on conflict do nothing`,
)

/** Stores a signal of a normalised address. From then on its result is `invalid` (`hard_bounced`), or at best `risky` (`complained`). */
export const addAddressSignal = async (work: Work, email: string, finding: AddressSignal): Promise<void> => {
  const { sql, accountId, now } = work
  await changeResult(work, email, (reasons) => [...reasons, finding])
  await sql(insertSignal, { accountId, email, finding, now })
}

const deleteSignals = statement(
  'delete-address-signals',
  { row: { finding: 'text' }, parameters: { accountId: 'text', email: 'text', findings: '_text' } },
  'delete from address_findings where account_id = :accountId and email = :email and finding = any(:findings) returning finding',
)

/** Removes signals of a normalised address, and restores the verification result without them. */
export const removeAddressSignals = async (
  work: Work,
  email: string,
  findings: readonly AddressSignal[],
): Promise<void> => {
  const { sql, accountId } = work
  const dropped = await sql(deleteSignals, { accountId, email, findings })
  if (dropped.length === 0) return
  const gone = dropped.map(({ finding }) => finding)
  await changeResult(work, email, (reasons) => reasons.filter((reason) => !gone.includes(reason)))
}
