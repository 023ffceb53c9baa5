import { Migration } from '@mikro-orm/migrations'

/** Courses with their lessons, members with their keys and their progress. Generated from the entities, then reviewed. */
export class Migration20261122140000_courses extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "courses" ("account_id" text collate "C" not null, "id" text collate "C" not null, "title" text not null, "published" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `create table "lessons" ("account_id" text collate "C" not null, "id" text collate "C" not null, "course_id" text collate "C" not null, "title" text not null, "content" text not null, "position" int not null, primary key ("account_id", "id"))`,
    )
    this.addSql(
      `alter table "lessons" add constraint "lessons_account_id_course_id_position_unique" unique ("account_id", "course_id", "position")`,
    )
    this.addSql(
      `create table "members" ("account_id" text collate "C" not null, "id" text collate "C" not null, "email" text collate "C" not null, "created_at" timestamptz not null, primary key ("account_id", "id"))`,
    )
    this.addSql(`alter table "members" add constraint "members_account_id_email_unique" unique ("account_id", "email")`)
    this.addSql(
      `create table "enrolments" ("account_id" text collate "C" not null, "member_id" text collate "C" not null, "course_id" text collate "C" not null, "active" boolean not null, "created_at" timestamptz not null, "updated_at" timestamptz not null, primary key ("account_id", "member_id", "course_id"))`,
    )
    this.addSql(
      `create index "enrolments_account_id_course_id_member_id_index" on "enrolments" ("account_id", "course_id", "member_id")`,
    )
    this.addSql(
      `create table "finished_lessons" ("account_id" text collate "C" not null, "member_id" text collate "C" not null, "course_id" text collate "C" not null, "lesson_id" text collate "C" not null, "finished_at" timestamptz not null, primary key ("account_id", "member_id", "course_id", "lesson_id"))`,
    )
    this.addSql(
      `create table "course_completions" ("account_id" text collate "C" not null, "member_id" text collate "C" not null, "course_id" text collate "C" not null, "completed_at" timestamptz not null, primary key ("account_id", "member_id", "course_id"))`,
    )
  }

  override down(): void {
    for (const table of ['course_completions', 'finished_lessons', 'enrolments', 'members', 'lessons', 'courses'])
      this.addSql(`drop table if exists "${table}" cascade`)
  }
}
