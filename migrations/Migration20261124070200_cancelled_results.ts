import { Migration } from '@mikro-orm/migrations'

const before = `'sent', 'failed', 'suppressed', 'bounced', 'complained', 'opened', 'clicked', 'answered', 'unsubscribed'`
const after = `'cancelled', ${before}`

/** Results count cancelled emails apart from those that failed. */
export class Migration20261124070200_cancelled_results extends Migration {
  static readonly change = 'expand'

  private check(table: string, metrics: string): void {
    this.addSql(`alter table "${table}" drop constraint "${table}_metric_check"`)
    this.addSql(`alter table "${table}" add constraint "${table}_metric_check" check ("metric" in (${metrics}))`)
  }

  override up(): void {
    this.check('message_results', `${after}, 'clicks'`)
    this.check('message_result_changes', after)
  }

  override down(): void {
    this.addSql(`update "message_result_changes" set "metric" = 'failed' where "metric" = 'cancelled'`)
    this.addSql(`insert into "message_results" as r select "account_id", "scope", "day", 'failed', "link", "since", "url", "count"
      from "message_results" where "metric" = 'cancelled'
      on conflict ("account_id", "scope", "day", "metric", "link", "since") do update set "count" = r."count" + excluded."count"`)
    this.addSql(`delete from "message_results" where "metric" = 'cancelled'`)
    this.check('message_results', `${before}, 'clicks'`)
    this.check('message_result_changes', before)
  }
}
