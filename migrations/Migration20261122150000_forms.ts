import { Migration } from '@mikro-orm/migrations'

/** Signup forms, and submissions that wait for confirmation. Generated from the entities, then reviewed. */
export class Migration20261122150000_forms extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "forms" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "list_id" text collate "C" not null, "fields" jsonb not null, "double_opt_in" boolean not null, "origins" text[] not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("id"))`,
    )
    this.addSql(`alter table "forms" add constraint "forms_account_id_name_unique" unique ("account_id", "name")`)
    this.addSql(
      `create table "form_signups" ("account_id" text collate "C" not null, "row_id" text collate "C" not null, "list_id" text collate "C" not null, "form_id" text collate "C" not null, "form_name" text not null, "mailed_at" timestamptz not null, primary key ("account_id", "row_id", "list_id"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "form_signups" cascade`)
    this.addSql(`drop table if exists "forms" cascade`)
  }
}
