import type { Sql } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { mailFacts, type Verifier } from './contacts.mailfacts.ts'
import { inDoubt, keepVerdicts } from './contacts.reverify.ts'
import { isDoubtful } from './contacts.verdict.ts'
import { verifyAddresses } from './contacts.verify.ts'

/** Domains that one round of re-checks takes. */
const domainsAtOnce = 200
const pageSize = 500

// Its own steps through the index: a million addresses of one domain are one of them.
const dueDomains = `
  with recursive doubtful(domain) as (
    (select domain from addresses where ${inDoubt} order by domain limit 1)
    union all
    select (select domain from addresses where ${inDoubt} and domain > d.domain order by domain limit 1)
    from doubtful d where d.domain is not null
  )
  select d.domain from doubtful d left join mail_domains m on m.domain = d.domain
  where d.domain is not null and (m.domain is null or m.expires_at <= $1 or m.finding not in ('timeout', 'error'))
  order by m.expires_at nulls first, d.domain limit ${domainsAtOnce}`

interface Place {
  accountId: string
  email: string
}

const nextInDoubt = (sql: Sql, domain: string, after: Place): Promise<Place[]> =>
  sql<Place>(
    // Written so that no other index than theirs has this order, whatever the statistics say.
    `select account_id as "accountId", email from addresses
     where ${inDoubt} and domain <= $1 and (domain, account_id, email) > ($1, $2, $3)
     order by domain, account_id, email limit ${pageSize}`,
    [domain, after.accountId, after.email],
    'next-in-doubt',
  )

type Rechecker = Verifier & Pick<App, 'operate'>

const recheckDomain = async (app: Rechecker, domain: string, signal: AbortSignal): Promise<number> => {
  let changed = 0
  let last: Place = { accountId: '', email: '' }
  while (!signal.aborted) {
    const page = await nextInDoubt(app.sql, domain, last)
    const verdicts = await verifyAddresses(app, [...new Set(page.map((row) => row.email))], { signal })
    const decided = page
      .map((row) => ({ ...row, ...verdicts.get(row.email)! }))
      .filter((verdict) => !isDoubtful(verdict))
    if (decided.length > 0)
      changed += (await app.operate('job:recheck', (operation) => keepVerdicts(operation, decided))).written
    if (page.length < pageSize) break
    last = page.at(-1)!
  }
  return changed
}

/**
 * Asks DNS again for domains whose addresses have a verdict without its answer, those asked longest ago first, judges the
 * addresses of those that answer, once each, and gives how many got a verdict. Across accounts: a job's work. No contact
 * changes, so none is updated and no event fires. Stops early at `signal`.
 */
export const recheckDomains = async (app: Rechecker, signal: AbortSignal): Promise<number> => {
  const due = await app.sql<{ domain: string }>(dueDomains, [app.now()])
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
