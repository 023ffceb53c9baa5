import { statement } from '../store/statement.ts'
import { dayScopes, type PersonMetric, personMetrics } from './results.rows.ts'

/*
 * The statement that adds up a batch of changes of one account, in parts: each is a common table expression. Messages and clicks are
 * numbers that are added. People count once in each scope: `message_people` has the first day of each person's metric in the scopes
 * that have an id (project, broadcast, journey), and a row for each day of the account, with a row for each clicked link beside it.
 */

export const batchSize = 1000

/** Returns `sqlOf` of each metric of people, joined. */
const forMetrics = (sqlOf: (metric: PersonMetric) => string, separator = ', '): string =>
  personMetrics.map(sqlOf).join(separator)

const columns = forMetrics((metric) => metric)

/** The changes of this batch. Those that another transaction has locked stay. */
const taken = `
  taken as (
    delete from message_result_changes
    where ctid = any(array(
      select ctid
      from message_result_changes
      where account_id = :accountId
        and (:person::text is null or email = :person)
      limit ${batchSize}
      for update skip locked
    ))
    returning project_id, cause, day, metric, count, email, url
  )`

/** The newest day on which each person of the batch was counted in the account. */
const latest = `
  latest as materialized (
    select e.email, (
      select max(scope)
      from message_people p
      where p.account_id = :accountId and p.email = e.email and ${dayScopes('scope')}
    )::date as day
    from (select distinct email from taken where email <> '') e
  )`

/** Each change in each of its scopes. In the account it counts at the earliest on that newest day: the days are written in order. */
const placed = `
  placed as materialized (
    select t.*, s.scope, s.is_account, case when s.is_account then greatest(t.day, l.day) else t.day end as counted
    from taken t
    left join latest l on l.email = t.email
    cross join lateral (values ('', true), (t.project_id, false), (t.cause, false)) s(scope, is_account)
    where s.scope is not null
  )`

/**
 * Returns the SQL condition that the change `p` of a person shows the metric. Who clicks or answers a link has opened the email.
 */
const shows = (metric: PersonMetric): string =>
  metric === 'opened' ? `p.metric <> 'unsubscribed' and l.link = ''` : `p.metric = '${metric}'`

/** A row of `message_people` for each person, scope and link of the batch, with the first day of each metric. */
const fact = `
  fact as materialized (
    select p.email, case when p.is_account then p.counted::text else p.scope end as scope, l.link, max(l.url) as url, p.is_account,
      ${forMetrics((metric) => `min(p.counted) filter (where ${shows(metric)}) as ${metric}`)}
    from placed p
    cross join lateral (values ('', ''), (md5(p.url), p.url)) l(link, url)
    where p.email <> '' and l.link is not null
    group by 1, 2, 3, 5
  )`

/** Writes the metrics that these rows did not have. */
const written = `
  written as (
    insert into message_people as p (account_id, email, scope, link, ${columns})
    select :accountId, email, scope, link, ${columns}
    from fact
    order by email, scope, link
    on conflict (account_id, email, scope, link) do update
    set ${forMetrics((metric) => `${metric} = coalesce(p.${metric}, excluded.${metric})`)}
    where ${forMetrics((metric) => `(p.${metric} is null and excluded.${metric} is not null)`, ' or ')}
  )`

/**
 * Each metric that a person did not have before this statement. In the account, `before` is the person's previous day with that metric
 * in this batch.
 */
const person = `
  person as materialized (
    select f.email, case when f.is_account then '' else f.scope end as scope, f.link, f.url, m.metric, m.day,
      case when f.is_account
        then lag(m.day) over (partition by f.email, f.link, m.metric, f.is_account order by m.day)
      end as before
    from fact f
    left join message_people k on k.account_id = :accountId and k.email = f.email and k.scope = f.scope and k.link = f.link
    cross join lateral (values ${forMetrics((metric) => `('${metric}', f.${metric}, k.${metric})`)}) m(metric, day, known)
    where m.day is not null and m.known is null
  )`

/** The person's previous day with that metric from earlier batches. */
const earlier = `
      select max(q.scope)::date as since
      from message_people q
      where p.scope = ''
        and q.account_id = :accountId
        and q.email = p.email
        and ${dayScopes('q.scope')}
        and q.scope < p.day::text
        and q.link = p.link
        and case p.metric ${forMetrics((metric) => `when '${metric}' then q.${metric}`, ' ')} end is not null`

/** What is added to the results: messages, clicks, people. */
const change = `
  change as (
    select scope, day, metric, '' as link, '-infinity'::date as since, '' as url, count
    from placed
    where email is null
    union all
    select scope, counted, 'clicks', md5(url), '-infinity', url, count
    from placed
    where url is not null
    union all
    select p.scope, p.day, p.metric, p.link, coalesce(greatest(p.before, b.since), '-infinity'), p.url, 1
    from person p
    left join lateral (${earlier}
    ) b on true
  )`

const folded = `
  folded as (
    insert into message_results (account_id, scope, day, metric, link, since, url, count)
    select :accountId, scope, day, metric, link, since, max(url), sum(count)
    from change
    group by scope, day, metric, link, since
    order by scope, day, metric, link, since
    on conflict (account_id, scope, day, metric, link, since) do update
    set count = message_results.count + excluded.count
  )`

/**
 * Adds up at most `batchSize` changes of the account, with `person` (an address) only those by this person; returns their number. The
 * caller has the lock of the account's results or of the person: two that run at once would both count a person who is new to them.
 */
export const foldBatch = statement(
  'fold-result-changes',
  { row: { count: 'int8' }, parameters: { accountId: 'text', person: 'text?' } },
  `with ${[taken, latest, placed, fact, written, person, change, folded].join(',')}
  select count(*) as count from taken`,
)
