import { Migration } from '@mikro-orm/migrations'

/** A call of POST /send has copies (cc, bcc): each is a message of its own. */
export class Migration20261123194400_message_copies extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "messages" add "copy" text null, add "copy_of" text collate "C" null`)
    this.addSql(`alter table "messages" add constraint "messages_copy_check" check ("copy" in ('to', 'cc', 'bcc'))`)
    this.addSql(
      `create index "messages_copy_index" on "messages" ("account_id", "copy_of", "id") where "copy_of" is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index "messages_copy_index"`)
    this.addSql(`alter table "messages" drop column "copy_of", drop column "copy"`)
  }
}
