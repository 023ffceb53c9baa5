import { Migration } from '@mikro-orm/migrations'

/** Studio projects and their versions. Generated from the entities, then reviewed. */
export class Migration20261121165000_studio extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "projects" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null, "version" int not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, "deleted_at" timestamptz null, primary key ("id"))`,
    )
    this.addSql(
      `create unique index "projects_account_id_name_index" on "projects" ("account_id", "name") where "deleted_at" is null`,
    )
    this.addSql(
      `create table "project_versions" ("account_id" text collate "C" not null, "project_id" text collate "C" not null, "version" int not null, "content" jsonb not null, "template" jsonb null, "renderer" int null, "created_at" timestamptz not null, primary key ("account_id", "project_id", "version"))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "project_versions" cascade`)
    this.addSql(`drop table if exists "projects" cascade`)
  }
}
