import { Migration } from '@mikro-orm/migrations'

const metrics = `'sent', 'failed', 'suppressed', 'bounced', 'complained', 'opened', 'clicked', 'answered', 'unsubscribed'`

/** Results count cancelled emails apart from those that failed. */
export class Migration20261124070200_cancelled_results extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "message_results" drop constraint "message_results_metric_check"`)
    this.addSql(`alter table "message_result_changes" drop constraint "message_result_changes_metric_check"`)
  }

  override down(): void {
    this.addSql(`update "message_result_changes" set "metric" = 'failed' where "metric" = 'cancelled'`)
    this.addSql(`insert into "message_results" as r select "account_id", "scope", "day", 'failed', "link", "since", "url", "count"
      from "message_results" where "metric" = 'cancelled'
      on conflict ("account_id", "scope", "day", "metric", "link", "since") do update set "count" = r."count" + excluded."count"`)
    this.addSql(`delete from "message_results" where "metric" = 'cancelled'`)
    this.addSql(
      `alter table "message_results" add constraint "message_results_metric_check" check ("metric" in (${metrics}, 'clicks'))`,
    )
    this.addSql(
      `alter table "message_result_changes" add constraint "message_result_changes_metric_check" check ("metric" in (${metrics}))`,
    )
  }
}
