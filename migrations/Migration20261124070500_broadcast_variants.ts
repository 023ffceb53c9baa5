import { Migration } from '@mikro-orm/migrations'

/** Broadcasts with several subjects, of which the best one is sent to the rest. */
export class Migration20261124070500_broadcast_variants extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "variants" jsonb null, add column "share_queued_at" timestamptz null,
      add column "winner" int null`)
    this.addSql(`alter table "broadcast_recipients" add column "is_rest" boolean null`)
  }

  override down(): void {
    this.addSql(`alter table "broadcast_recipients" drop column "is_rest"`)
    this.addSql(`alter table "broadcasts" drop column "variants", drop column "share_queued_at", drop column "winner"`)
  }
}
