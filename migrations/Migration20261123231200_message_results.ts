import { Migration } from '@mikro-orm/migrations'

const metrics = `'sent', 'failed', 'suppressed', 'bounced', 'complained', 'opened', 'clicked', 'answered', 'unsubscribed', 'clicks'`
const keys = `"account_id" text collate "C" not null, "scope" text collate "C" not null`

/**
 * Results of email: counted by day, people counted once, and the results of the messages and interactions so far. Clicks so far are
 * counted by link if the version has their URL as it is, without merge tags; otherwise only by their numbers of people.
 */
export class Migration20261123231200_message_results extends Migration {
  static readonly change = 'contract'

  override up(): void {
    const cause = `case when starts_with(m.key, 'broadcast:') then split_part(m.key, ':', 2) when m.source_kind = 'journey' then m.source_id end`
    this.addSql(
      `create table "message_results" (${keys}, "day" date not null, "metric" text not null, "link" text collate "C" not null default '', "since" date not null default '-infinity', "url" text not null default '', "count" int not null, primary key ("account_id", "scope", "day", "metric", "link", "since"))`,
    )
    this.addSql(
      `alter table "message_results" add constraint "message_results_metric_check" check ("metric" in (${metrics}))`,
    )
    this.addSql(
      `create table "message_result_changes" ("account_id" text collate "C" not null, "id" uuid not null default gen_random_uuid(), "project_id" text collate "C" null, "cause" text collate "C" null, "day" date not null, "metric" text not null, "count" int not null, "email" text collate "C" null, "url" text null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `alter table "message_result_changes" add constraint "message_result_changes_metric_check" check ("metric" in (${metrics.slice(0, metrics.lastIndexOf(','))}))`,
    )
    this.addSql(
      `create table "message_people" ("account_id" text collate "C" not null, "email" text collate "C" not null, "scope" text collate "C" not null, "link" text collate "C" not null, "opened" date null, "clicked" date null, "answered" date null, "unsubscribed" date null, "news" smallint not null, primary key ("account_id", "email", "scope", "link"))`,
    )
    this.addSql(`
      insert into message_results (account_id, scope, day, metric, count)
      select e.account_id, s.scope, e.day, e.metric, count(*)
      from (
        select m.account_id, m.project_id, ${cause} as cause, (m.finished_at at time zone 'UTC')::date as day, m.status as metric
        from messages m where m.status <> 'pending' and m.finished_at is not null
        union all
        select m.account_id, m.project_id, ${cause}, (r.at at time zone 'UTC')::date, r.metric
        from (
          select account_id, message_id, case kind when 'complaint' then 'complained' else 'bounced' end as metric, min(created_at) as at
          from message_reports where kind in ('hard', 'soft', 'complaint') group by 1, 2, 3
        ) r join messages m on m.account_id = r.account_id and m.id = r.message_id
      ) e cross join lateral (values (''), (e.project_id), (e.cause)) s(scope)
      where s.scope is not null group by e.account_id, s.scope, e.day, e.metric`)
    // The sorts and groups of the following statements stay in memory up to here.
    this.addSql(`set local work_mem = '128MB'`)
    this.addSql(`
      create temporary table actions on commit drop as
      select i.account_id, i.email, i.kind, i.project_id, i.project_version, (i.at at time zone 'UTC')::date as day, i.cause, i.url
      from (
        select i.account_id, i.email, i.kind, i.project_id, m.project_version, i.at, ${cause} as cause,
          case when i.kind = 'click' then i.value #>> '{}' end as url
        from interactions i join messages m on m.account_id = i.account_id and m.id = i.message_id where not i.is_bot
      ) i`)
    this.addSql(`
      create temporary table plain_links on commit drop as
      select d.* from (select distinct account_id, project_id, project_version, url from actions where url is not null) d
      join project_versions v on v.account_id = d.account_id and v.project_id = d.project_id and v.version = d.project_version
      where strpos(v.content::text, d.url) > 0`)
    this.addSql(`analyze actions`)
    this.addSql(`analyze plain_links`)
    this.addSql(`
      create temporary table link_actions on commit drop as
      select d.* from actions d join plain_links p using (account_id, project_id, project_version, url)`)
    this.addSql(`
      insert into message_people (account_id, email, scope, link, opened, clicked, answered, news)
      select d.account_id, d.email, s.scope, '', min(d.day), min(d.day) filter (where d.kind = 'click'),
        min(d.day) filter (where d.kind not in ('open', 'click')), 0
      from actions d cross join lateral (values (d.day::text), (d.project_id), (d.cause)) s(scope)
      where s.scope is not null and d.email <> '' group by d.account_id, d.email, s.scope`)
    this.addSql(`
      insert into message_people (account_id, email, scope, link, clicked, news)
      select d.account_id, d.email, s.scope, md5(d.url), min(d.day), 0
      from link_actions d cross join lateral (values (d.day::text), (d.project_id), (d.cause)) s(scope)
      where s.scope is not null and d.email <> '' group by d.account_id, d.email, s.scope, md5(d.url)`)
    const counted = `cross join lateral (values ('opened', p.opened), ('clicked', p.clicked), ('answered', p.answered)) m(metric, day)`
    const urls = `left join (select distinct md5(url) as link, url from plain_links) l on l.link = p.link`
    this.addSql(`
      insert into message_results (account_id, scope, day, metric, link, url, count)
      select p.account_id, p.scope, m.day, m.metric, p.link, coalesce(max(l.url), ''), count(*)
      from message_people p ${counted} ${urls}
      where m.day is not null and p.scope > ':' group by p.account_id, p.scope, m.day, m.metric, p.link`)
    this.addSql(`
      insert into message_results (account_id, scope, day, metric, link, since, url, count)
      select p.account_id, '', p.day, p.metric, p.link, coalesce(p.since, '-infinity'), coalesce(max(l.url), ''), count(*)
      from (
        select p.account_id, p.link, m.metric, m.day, lag(m.day) over (partition by p.account_id, p.email, p.link, m.metric order by m.day) as since
        from message_people p ${counted} where m.day is not null and p.scope < ':'
      ) p ${urls}
      group by p.account_id, p.day, p.metric, p.link, p.since`)
    this.addSql(`
      insert into message_results (account_id, scope, day, metric, link, url, count)
      select d.account_id, s.scope, d.day, 'clicks', md5(d.url), d.url, count(*)
      from link_actions d cross join lateral (values (''), (d.project_id), (d.cause)) s(scope)
      where s.scope is not null group by d.account_id, s.scope, d.day, d.url`)
  }

  override down(): void {
    this.addSql(`drop table if exists "message_people" cascade`)
    this.addSql(`drop table if exists "message_result_changes" cascade`)
    this.addSql(`drop table if exists "message_results" cascade`)
  }
}
