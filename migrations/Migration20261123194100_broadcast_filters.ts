import { Migration } from '@mikro-orm/migrations'

/** Broadcasts to the contacts that meet a filter when sending begins. */
export class Migration20261123194100_broadcast_filters extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "segment_id" text collate "C" null, add column "filter" text null`)
    this.addSql(`create table "broadcast_recipients" ("account_id" text collate "C" not null, "broadcast_id" text collate "C" not null,
      "number" int not null, "row_ids" text[] not null, primary key ("account_id", "broadcast_id", "number"))`)
  }

  override down(): void {
    this.addSql(`drop table "broadcast_recipients"`)
    this.addSql(`alter table "broadcasts" drop column "segment_id", drop column "filter"`)
  }
}
