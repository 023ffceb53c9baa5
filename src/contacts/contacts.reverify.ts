import type { App, Operation } from '../store/work.ts'
import { type Judged, withFindings } from './contacts.findings.ts'
import type { Asking, Verifier } from './contacts.mailfacts.ts'
import { dnsDoubts, isDoubtful, type Verdict } from './contacts.verdict.ts'
import { verifyAddresses } from './contacts.verify.ts'

/** Verdicts that a DNS server gave no answer for: as the index of them has it. */
export const inDoubt = `verification_status <> 'valid' and verification_reasons && '{${dnsDoubts}}'::text[]`

const lockAddresses = `
  select 1 from (
    select * from unnest($1::text[], $2::text[]) as i(account, email) order by account collate "C", email collate "C"
  ) o cross join lateral (
    select from addresses where account_id = o.account and email = o.email for no key update
  ) held`

const writeVerdicts = `
  update addresses a set verification_status = x.status, verification_reasons = x.reasons, verified_at = $2
  from (
    select held.address, j.status, j.reasons
    from jsonb_to_recordset($1::jsonb) as j("accountId" text, email text, status text, reasons text[], "isDoubtful" boolean)
    cross join lateral (
      select ctid as address from addresses where account_id = j."accountId" and email = j.email
        and (not j."isDoubtful" or verification_status is null or ${inDoubt}) limit 1
    ) held
  ) x
  where a.ctid = x.address returning 1`

/**
 * Writes verdicts on addresses with the time of this unit of work: one without an answer from DNS replaces none that had one.
 * Gives how many it wrote, and the verdicts joined with what mail has shown. Addresses are locked first, so that this is the
 * latest.
 */
export const keepVerdicts = async (
  { sql, now }: Operation,
  judged: readonly Judged[],
): Promise<{ written: number; joined: Judged[] }> => {
  const [accounts, emails] = [judged.map(({ accountId }) => accountId), judged.map(({ email }) => email)]
  await sql(lockAddresses, [accounts, emails], 'lock-addresses')
  const joined = await withFindings(sql, judged)
  const rows = joined.map((row) => ({ ...row, isDoubtful: isDoubtful(row) }))
  const written = await sql(writeVerdicts, [JSON.stringify(rows), now], 'keep-verdicts')
  return { written: written.length, joined }
}

/**
 * Judges kept addresses of an account afresh, as far as the DNS cache has forgotten their domains (`svc contacts verify`), and
 * gives what was found, in their order. No contact changes, so none is updated and no event fires.
 */
export const reverify = async (
  app: Verifier & Pick<App, 'work'>,
  accountId: string,
  actor: string,
  emails: readonly string[],
  asking?: Asking,
): Promise<Verdict[]> => {
  const verdicts = await verifyAddresses(app, emails, asking)
  const judged = emails.map((email) => ({ accountId, email, ...verdicts.get(email)! }))
  return (await app.work(accountId, actor, (work) => keepVerdicts(work, judged))).joined
}
