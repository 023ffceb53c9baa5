import { Migration } from '@mikro-orm/migrations'

/** Broadcasts to several lists and segments, or to everybody, without others. */
export class Migration20261124070400_broadcast_audiences extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "audience" jsonb null`)
    this.addSql(`alter table "broadcast_recipients" add column "list_ids" text[] null`)
  }

  override down(): void {
    this.addSql(`update "broadcasts" set "status" = 'cancelled', "finished_at" = svc_now()
      where "audience" is not null and "finished_at" is null`)
    this.addSql(`alter table "broadcast_recipients" drop column "list_ids"`)
    this.addSql(`alter table "broadcasts" drop column "audience"`)
  }
}
