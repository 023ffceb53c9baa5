import { Migration } from '@mikro-orm/migrations'

/** Counts by day, and the rows that are added up to them. */
export class Migration20261123230300_day_counts extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "day_counts" ("account_id" text collate "C" not null, "subject" text collate "C" not null, "day" date not null, "counts" jsonb not null, primary key ("account_id", "subject", "day"))`,
    )
    this.addSql(
      `create table "day_tallies" ("account_id" text collate "C" not null, "subject" text collate "C" not null, "id" uuid not null default gen_random_uuid(), "day" date not null, "counts" jsonb not null, primary key ("account_id", "subject", "id"))`,
    )
    this.addSql(
      `create function svc_add_counts(a jsonb, b jsonb) returns jsonb language sql immutable
       return (
         select coalesce(jsonb_object_agg(key, count), '{}') from (
           select key, sum(value::bigint) as count from (
             select key, value from jsonb_each_text(a) union all select key, value from jsonb_each_text(b)
           ) e group by key
         ) c where count <> 0
       )`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "day_counts" cascade`)
    this.addSql(`drop table if exists "day_tallies" cascade`)
    this.addSql(`drop function if exists svc_add_counts(jsonb, jsonb)`)
  }
}
