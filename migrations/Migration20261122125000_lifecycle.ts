import { Migration } from '@mikro-orm/migrations'

/** Bindings of lifecycle emails to projects. Generated from the entities, then reviewed. */
export class Migration20261122125000_lifecycle extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "lifecycle_bindings" ("account_id" text collate "C" not null, "subject_kind" text not null, "subject_id" text collate "C" not null, "event" text not null, "project_id" text collate "C" not null, "updated_at" timestamptz not null, primary key ("account_id", "subject_kind", "subject_id", "event"))`,
    )
    this.addSql(
      `alter table "lifecycle_bindings" add constraint "lifecycle_bindings_subject_kind_check" check ("subject_kind" in ('course', 'webinar'))`,
    )
    this.addSql(
      `alter table "lifecycle_bindings" add constraint "lifecycle_bindings_event_check" check ("event" in ('enrolled', 'completed', 'registered', 'reminder'))`,
    )
  }

  override down(): void {
    this.addSql(`drop table if exists "lifecycle_bindings" cascade`)
  }
}
