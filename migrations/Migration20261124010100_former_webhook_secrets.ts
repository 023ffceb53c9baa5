import { Migration } from '@mikro-orm/migrations'

/** The former secret of a webhook, which signs beside the current one for a limited time. */
export class Migration20261124010100_former_webhook_secrets extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `alter table "delivery_targets" add column "former_sealed_secret" text null, add column "former_secret_until" timestamptz null`,
    )
    this.addSql(
      `create index "delivery_targets_former_index" on "delivery_targets" ("former_secret_until") where "former_secret_until" is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index "delivery_targets_former_index"`)
    this.addSql(`alter table "delivery_targets" drop column "former_sealed_secret", drop column "former_secret_until"`)
  }
}
