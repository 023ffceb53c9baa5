import { defineJob } from '../../store/background.ts'
import { isUnavailable, type Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App } from '../../store/work.ts'
import { mailFacts, type Verifier } from './dns.ts'
import { isInconclusive } from './result.ts'
import { isInconclusiveSql, saveResults } from './reverify.ts'
import { verifyAddresses } from './verify.ts'

/** Domains for each round of re-checks. */
const maxDomains = 200
const pageSize = 500

// The recursion steps through the index from domain to domain: a million addresses of one domain are one step.
const findDueDomains = statement(
  'find-due-domains',
  { row: { domain: 'text' }, parameters: { now: 'timestamptz' } },
  `with recursive doubtful(domain) as (
     (select domain from addresses where ${isInconclusiveSql} order by domain limit 1)
     union all
     select (select domain from addresses where ${isInconclusiveSql} and domain > d.domain order by domain limit 1)
     from doubtful d where d.domain is not null
   )
   select d.domain from doubtful d left join mail_domains m on m.domain = d.domain
   where d.domain is not null and (m.domain is null or m.expires_at <= :now or m.finding not in ('timeout', 'error'))
   order by m.expires_at nulls first, d.domain limit ${maxDomains}`,
)

interface Place {
  accountId: string
  email: string
}

// The conditions match only the partial index in this order, whatever the planner's statistics are.
const nextInDoubt = preparedStatement(
  'next-in-doubt',
  { row: { accountId: 'text', email: 'text' }, parameters: { domain: 'text', accountId: 'text', email: 'text' } },
  `select account_id as "accountId", email from addresses
   where ${isInconclusiveSql} and domain <= :domain and (domain, account_id, email) > (:domain, :accountId, :email)
   order by domain, account_id, email limit ${pageSize}`,
)

const nextInconclusive = (sql: Sql, domain: string, after: Place): Promise<Place[]> =>
  sql(nextInDoubt, { domain, accountId: after.accountId, email: after.email })

type Rechecker = Verifier & Pick<App, 'operate' | 'report'>

const recheckDomain = async (app: Rechecker, domain: string, signal: AbortSignal): Promise<number> => {
  let changed = 0
  let last: Place = { accountId: '', email: '' }
  while (!signal.aborted) {
    const page = await nextInconclusive(app.sql, domain, last)
    const verifications = await verifyAddresses(app, [...new Set(page.map((row) => row.email))], { signal })
    const decided = page
      .map((row) => ({ ...row, ...verifications.get(row.email)! }))
      .filter((verification) => !isInconclusive(verification))
    for (const [accountId, own] of Map.groupBy(decided, (row) => row.accountId)) {
      try {
        changed += (await app.operate('job:recheck', (operation) => saveResults(operation, own))).written
      } catch (error) {
        if (isUnavailable(error)) throw error
        app.report(error, { account: accountId })
      }
    }
    if (page.length < pageSize) break
    last = page.at(-1)!
  }
  return changed
}

/**
 * Queries DNS again for domains that gave no answer before, longest ago first. Verifies the addresses of the domains that now answer, once
 * each, and returns the number of changed results. Works across accounts, for a job: an account that fails is reported and does not delay
 * the others. Contacts do not change, so no event fires. Stops early if `signal` is aborted.
 */
export const recheckDomains = async (app: Rechecker, signal: AbortSignal): Promise<number> => {
  const due = await app.sql(findDueDomains, { now: app.now() })
  const facts = await mailFacts(
    app,
    due.map((row) => row.domain),
    { isPatient: true, signal },
  )
  let changed = 0
  for (const [domain, fact] of facts)
    if (fact !== 'timeout' && fact !== 'error') changed += await recheckDomain(app, domain, signal)
  return changed
}

export const jobs = [
  defineJob('domain checks', {
    does: 'Looks up domains that gave no answer again, and verifies their addresses',
    runOnce: recheckDomains,
  }),
]
