import { activeAccounts } from '../../accounts/accounts.rows.ts'
import { lockKey } from '../../lib/locks.ts'
import { Problem } from '../../lib/problem.ts'
import { runSchedule } from '../../queue/loop.ts'
import { isUnavailable } from '../../store/database.ts'
import { inBatches } from '../../store/in-batches.ts'
import { statement } from '../../store/statement.ts'
import type { App, Report, Work } from '../../store/work.ts'
import { dayScopes, personMetrics } from './results.count.ts'

const batchSize = 1000
/** Readers add up the changes of at most this time themselves. */
const intervalMs = 10_000

// Reads one index entry for each account.
const findChanged = statement<{ accountId: string }>(
  'accounts-of-result-changes',
  { accountId: 'text' },
  `with recursive changed as (
     (select account_id from message_result_changes order by account_id limit 1)
     union all
     select n.account_id from changed c cross join lateral (
       select account_id from message_result_changes r where r.account_id > c.account_id order by r.account_id limit 1
     ) n
   ) select account_id as "accountId" from changed
   where exists (select from ${activeAccounts} a where a.id = account_id)`,
)

const bitOf = (i: number) => 2 ** i
const columns = personMetrics.join(', ')
const isNews = (metric: string) => `(p.${metric} is null and excluded.${metric} is not null)`

// A person has a row in each scope, also in each of the account's days, and in each of them a row for each clicked link. The rows
// that are new, or have a new metric, are counted. In the account, `since` is the person's previous day with that metric.
const foldBatch = statement<{ count: number }>(
  'fold-result-changes',
  { count: 'int8' },
  `with taken as (
     delete from message_result_changes where ctid = any(array(
       select ctid from message_result_changes where account_id = $1 and ($2::text is null or email = $2)
       limit ${batchSize} for update skip locked
     )) returning project_id, cause, day, metric, count, email, url
   ), latest as materialized (
     select e.email, (
       select max(scope) from message_people p where p.account_id = $1 and p.email = e.email and ${dayScopes('scope')}
     )::date as day
     from (select distinct email from taken where email <> '') e
   ), placed as materialized (
     select t.*, s.scope, s.is_account, case when s.is_account then greatest(t.day, l.day) else t.day end as counted
     from taken t left join latest l on l.email = t.email
       cross join lateral (values ('', true), (t.project_id, false), (t.cause, false)) s(scope, is_account)
     where s.scope is not null
   ), fact as materialized (
     select p.email, case when p.is_account then p.counted::text else p.scope end as scope, l.link, max(l.url) as url, p.is_account,
       ${personMetrics
         .map((metric) => {
           const counts = metric === 'opened' ? `p.metric <> 'unsubscribed' and l.link = ''` : `p.metric = '${metric}'`
           return `min(p.counted) filter (where ${counts}) as ${metric}`
         })
         .join(', ')}
     from placed p cross join lateral (values ('', ''), (md5(p.url), p.url)) l(link, url)
     where p.email <> '' and l.link is not null group by 1, 2, 3, 5
   ), news as (
     insert into message_people as p (account_id, email, scope, link, ${columns}, news)
     select $1, email, scope, link, ${columns},
       ${personMetrics.map((metric, i) => `case when ${metric} is null then 0 else ${bitOf(i)} end`).join(' + ')}
     from fact order by email, scope, link
     on conflict (account_id, email, scope, link) do update set
       ${personMetrics.map((metric) => `${metric} = coalesce(p.${metric}, excluded.${metric})`).join(', ')},
       news = ${personMetrics.map((metric, i) => `case when ${isNews(metric)} then ${bitOf(i)} else 0 end`).join(' + ')}
     where ${personMetrics.map(isNews).join(' or ')}
     returning email, scope, link, news
   ), person as materialized (
     select f.email, case when f.is_account then '' else f.scope end as scope, f.link, f.url, m.metric, m.day,
       case when f.is_account then lag(m.day) over (partition by f.email, f.link, m.metric, f.is_account order by m.day) end as before
     from news n join fact f on f.email = n.email and f.scope = n.scope and f.link = n.link
       cross join lateral (values ${personMetrics.map((metric, i) => `('${metric}', ${bitOf(i)}, f.${metric})`).join(', ')}) m(metric, bit, day)
     where n.news & m.bit > 0
   ), change as (
     select scope, day, metric, '' as link, '-infinity'::date as since, '' as url, count from placed where email is null
     union all
     select scope, counted, 'clicks', md5(url), '-infinity', url, count from placed where url is not null
     union all
     select p.scope, p.day, p.metric, p.link, coalesce(greatest(p.before, b.since), '-infinity'), p.url, 1
     from person p left join lateral (
       select max(q.scope)::date as since from message_people q
       where p.scope = '' and q.account_id = $1 and q.email = p.email and ${dayScopes('q.scope')} and q.scope < p.day::text and q.link = p.link
         and case p.metric ${personMetrics.map((metric) => `when '${metric}' then q.${metric}`).join(' ')} end is not null
     ) b on true
   ), folded as (
     insert into message_results (account_id, scope, day, metric, link, since, url, count)
     select $1, scope, day, metric, link, since, max(url), sum(count) from change group by scope, day, metric, link, since
     order by scope, day, metric, link, since
     on conflict (account_id, scope, day, metric, link, since) do update set count = message_results.count + excluded.count
   ) select count(*) as count from taken`,
)

const lockToFold = statement<{ isMine: boolean }>(
  'lock-results-to-fold',
  { isMine: 'bool' },
  `select pg_try_advisory_xact_lock(${lockKey('results', '$1')}) as "isMine"`,
)

const lockToCorrect = statement<{ pg_advisory_xact_lock_shared: '' }>(
  'lock-results-to-correct',
  { pg_advisory_xact_lock_shared: 'void' },
  `select pg_advisory_xact_lock_shared(${lockKey('results', '$1')})`,
)

/** Keeps `foldResults` from the account until the end of the transaction. */
export const holdResults = async ({ sql, accountId }: Work): Promise<void> => {
  await sql(lockToCorrect, [accountId])
}

/** Adds up the changes by one person. The caller holds the results. */
export const foldPerson = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  while ((await sql(foldBatch, [accountId, email]))[0]!.count === batchSize);
}

/**
 * Adds up the changes of all accounts, in batches. An account whose results are being corrected is skipped. An account that fails is
 * reported and does not delay the others. Rejects while the database is unavailable.
 */
export const foldResults = async (app: App, signal?: AbortSignal, report: Report = app.report): Promise<void> => {
  const accounts = await app.sql(findChanged)
  for (const { accountId } of accounts) {
    const fold = () =>
      app.work(accountId, 'job:results', async ({ sql }) => {
        const [lock] = await sql(lockToFold, [accountId])
        return lock!.isMine ? (await sql(foldBatch, [accountId, null]))[0]!.count : 0
      })
    await inBatches(batchSize, fold, signal).catch((error) => {
      // The account is being deleted, and its rows with it.
      if (error instanceof Problem && error.kind === 'not_found') return
      if (isUnavailable(error)) throw error
      report(error, { account: accountId })
    })
  }
}

/** Adds up the changes of all accounts every ten seconds. */
export const runResults = (app: App, signal: AbortSignal, report: Report): Promise<void> =>
  runSchedule(app, null, signal, report, () => ({
    async turn() {
      await foldResults(app, signal, report)
      return intervalMs
    },
  }))
