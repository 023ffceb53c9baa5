import { Migration } from '@mikro-orm/migrations'

/** Submissions of active contacts wait for confirmation too, and a link whose email failed is sent again. */
export class Migration20261123112000_confirmations extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `alter table "form_signups" add column "fields" jsonb null, add column "message_id" text collate "C" null, add column "tries" int not null default 0`,
    )
    this.addSql(`create index "form_signups_mailed_index" on "form_signups" ("mailed_at")`)
  }

  override down(): void {
    this.addSql(`drop index "form_signups_mailed_index"`)
    this.addSql(`alter table "form_signups" drop column "tries", drop column "message_id", drop column "fields"`)
  }
}
