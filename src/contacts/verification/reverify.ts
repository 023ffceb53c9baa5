import { preparedStatement } from '../../store/statement.ts'
import type { App, Operation } from '../../store/work.ts'
import type { LookupOptions, Verifier } from './dns.ts'
import { inconclusiveReasons, isInconclusive, type VerificationResult } from './result.ts'
import { type VerifiedAddress, withSignals } from './signals.ts'
import { verifyAddresses } from './verify.ts'

/** The SQL condition of results without an answer from DNS, which is that of the index `addresses_in_doubt_index`. */
export const isInconclusiveSql = `verification_status <> 'valid' and verification_reasons && '{${inconclusiveReasons}}'::text[]`

const lockAddresses = preparedStatement(
  'lock-addresses',
  { parameters: { accounts: '_text', emails: '_text' } },
  `
  select from (
    select * from unnest(:accounts::text[], :emails::text[]) as i(account, email) order by account collate "C", email collate "C"
  ) o cross join lateral (
    select from addresses where account_id = o.account and email = o.email for no key update
  ) held`,
)

const updateResults = preparedStatement(
  'save-results',
  { row: { email: 'text' }, parameters: { rows: 'jsonb', now: 'timestamptz' } },
  `
  update addresses a set verification_status = x.status, verification_reasons = x.reasons, verified_at = :now
  from (
    select held.address, j.status, j.reasons
    from jsonb_to_recordset(:rows::jsonb) as j("accountId" text, email text, status text, reasons text[], "isInconclusive" boolean)
    cross join lateral (
      select ctid as address from addresses where account_id = j."accountId" and email = j.email
        and (not j."isInconclusive" or verification_status is null or ${isInconclusiveSql}) limit 1
    ) held
  ) x
  where a.ctid = x.address returning a.email`,
)

/**
 * Saves verification results with the time of this unit of work. An inconclusive result never replaces a conclusive one. Locks the
 * addresses first, in order. Returns the number of saved results, and all results with their signals.
 */
export const saveResults = async (
  { sql, now }: Operation,
  verified: readonly VerifiedAddress[],
): Promise<{ written: number; joined: VerifiedAddress[] }> => {
  const [accounts, emails] = [verified.map(({ accountId }) => accountId), verified.map(({ email }) => email)]
  await sql(lockAddresses, { accounts, emails })
  const joined = await withSignals(sql, verified)
  const rows = joined.map((row) => ({ ...row, isInconclusive: isInconclusive(row) }))
  const written = await sql(updateResults, { rows: JSON.stringify(rows), now })
  return { written: written.length, joined }
}

/**
 * Verifies addresses of an account again (`svc contacts verify`), and returns the results in order. Cached DNS answers are used until they
 * expire. Contacts do not change, so no event fires.
 */
export const reverify = async (
  app: Verifier & Pick<App, 'work'>,
  accountId: string,
  actor: string,
  emails: readonly string[],
  options?: LookupOptions,
): Promise<VerificationResult[]> => {
  const verifications = await verifyAddresses(app, emails, options)
  const verified = emails.map((email) => ({ accountId, email, ...verifications.get(email)! }))
  return (await app.work(accountId, actor, (work) => saveResults(work, verified))).joined
}
