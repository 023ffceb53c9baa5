import { Migration } from '@mikro-orm/migrations'

/** The people who submitted forms, and the signups that are not confirmed yet. Earlier submissions left no trace. */
export class Migration20261123230600_form_people extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table "form_people" ("account_id" text collate "C" not null, "email" text collate "C" not null, "form_id" text collate "C" not null, "submitted_at" timestamptz not null, primary key ("account_id", "email", "form_id"))`,
    )
    this.addSql(`create index "form_people_form_index" on "form_people" ("account_id", "form_id")`)
    this.addSql(`
      insert into form_people (account_id, email, form_id, submitted_at)
      select s.account_id, c.email, s.form_id, min(s.mailed_at)
      from form_signups s
        join forms f on f.account_id = s.account_id and f.id = s.form_id
        join contacts c on c.account_id = s.account_id and c.list_id = s.list_id and c.row_id = s.row_id
      group by s.account_id, c.email, s.form_id`)
    this.addSql(`
      insert into day_counts (account_id, subject, day, counts)
      select account_id, form_id, (submitted_at at time zone 'UTC')::date, jsonb_build_object('submissions', count(*), 'people', count(*))
      from form_people group by 1, 2, 3`)
  }

  override down(): void {
    this.addSql(`drop table if exists "form_people" cascade`)
    this.addSql(`delete from day_counts where starts_with(subject, 'frm_')`)
    this.addSql(`delete from day_tallies where starts_with(subject, 'frm_')`)
  }
}
