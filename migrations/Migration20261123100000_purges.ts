import { Migration } from '@mikro-orm/migrations'

/** An index for each purge, and the deletion time of delivery targets. */
export class Migration20261123100000_purges extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "delivery_targets" add column "deleted_at" timestamptz null`)
    this.addSql(`update "delivery_targets" set "deleted_at" = svc_now() where "status" = 'deleted'`)
    this.addSql(
      `create index "delivery_targets_deleted_index" on "delivery_targets" ("deleted_at") where "status" = 'deleted'`,
    )
    this.addSql(`create index "ended_deliveries_finished_index" on "ended_deliveries" ("finished_at")`)
    this.addSql(`create index "journey_runs_ended_index" on "journey_runs" ("ended_at") where "ended_at" is not null`)
    this.addSql(
      `create index "journey_runs_version_index" on "journey_runs" ("version", "journey_id") where "status" in ('running', 'waiting')`,
    )
    this.addSql(
      `create index "journey_versions_look_index" on "journey_versions" ("look_at") where "look_at" is not null`,
    )
    this.addSql(`create index "mail_domains_expires_at_index" on "mail_domains" ("expires_at")`)
    this.addSql(`create index "rate_windows_started_at_index" on "rate_windows" ("started_at")`)
  }

  override down(): void {
    this.addSql(`drop index "rate_windows_started_at_index"`)
    this.addSql(`drop index "mail_domains_expires_at_index"`)
    this.addSql(`drop index "journey_versions_look_index"`)
    this.addSql(`drop index "journey_runs_version_index"`)
    this.addSql(`drop index "journey_runs_ended_index"`)
    this.addSql(`drop index "ended_deliveries_finished_index"`)
    this.addSql(`alter table "delivery_targets" drop column "deleted_at"`)
  }
}
