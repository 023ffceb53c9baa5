import { Migration } from '@mikro-orm/migrations'

/** Broadcasts begin as drafts, and have names. Generated from the entities, then reviewed. */
export class Migration20261123150000_drafts extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "name" text not null default ''`)
    this.addSql(
      `update "broadcasts" b set "name" = p."name" from "projects" p where p."account_id" = b."account_id" and p."id" = b."project_id"`,
    )
    this.addSql(`alter table "broadcasts" alter column "name" drop default`)
    this.addSql(`alter table "broadcasts" drop constraint "broadcasts_status_check"`)
    this.addSql(
      `alter table "broadcasts" add constraint "broadcasts_status_check" check ("status" in ('draft', 'scheduled', 'sending', 'done', 'cancelled'))`,
    )
    this.addSql(`drop index "broadcasts_open_index"`)
    this.addSql(
      `create index "broadcasts_open_index" on "broadcasts" (coalesce("scheduled_at", "created_at")) where "finished_at" is null and "status" <> 'draft'`,
    )
  }

  override down(): void {
    this.addSql(`update "broadcasts" set "status" = 'cancelled', "finished_at" = svc_now() where "status" = 'draft'`)
    this.addSql(`drop index "broadcasts_open_index"`)
    this.addSql(
      `create index "broadcasts_open_index" on "broadcasts" (coalesce("scheduled_at", "created_at")) where "finished_at" is null`,
    )
    this.addSql(`alter table "broadcasts" drop constraint "broadcasts_status_check"`)
    this.addSql(
      `alter table "broadcasts" add constraint "broadcasts_status_check" check ("status" in ('scheduled', 'sending', 'done', 'cancelled'))`,
    )
    this.addSql(`alter table "broadcasts" drop column "name"`)
  }
}
