import { Migration } from '@mikro-orm/migrations'

/** Deletes the content of messages and the text of answers after their retention time. */
export class Migration20261123102000_retention extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "messages" add column "dropped_at" timestamptz null`)
    this.addSql(`create index "messages_content_index" on "messages" ("created_at", "id") where "dropped_at" is null`)
    this.addSql(
      `create index "interactions_text_index" on "interactions" ("at") where "kind" = 'form' and "value" is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index "interactions_text_index"`)
    this.addSql(`drop index "messages_content_index"`)
    this.addSql(`alter table "messages" drop column "dropped_at"`)
  }
}
