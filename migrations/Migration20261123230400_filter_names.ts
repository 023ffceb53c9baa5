import { Migration } from '@mikro-orm/migrations'

/** What the names in stored filters stand for, and why a broadcast was cancelled. */
export class Migration20261123230400_filter_names extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "segments" add column "filter_names" jsonb null`)
    this.addSql(`alter table "broadcasts" add column "filter_names" jsonb null, add column "reason" text null`)
  }

  override down(): void {
    this.addSql(`alter table "segments" drop column "filter_names"`)
    this.addSql(`alter table "broadcasts" drop column "filter_names", drop column "reason"`)
  }
}
