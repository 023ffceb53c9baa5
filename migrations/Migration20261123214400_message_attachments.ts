import { Migration } from '@mikro-orm/migrations'

/** An email has attachments, stored apart from it: only the process that sends it reads them. */
export class Migration20261123214400_message_attachments extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "messages" add "attachments" int null`)
    this.addSql(
      `create table "message_attachments" ("account_id" text collate "C" not null, "message_id" text collate "C" not null,
         "position" int not null, "filename" text not null, "content_type" text not null, "content_id" text null,
         "size" int not null, "content" bytea not null, primary key ("account_id", "message_id", "position"))`,
    )
    // Attachments are mostly compressed already.
    this.addSql(`alter table "message_attachments" alter column "content" set storage external`)
  }

  override down(): void {
    this.addSql(`drop table "message_attachments"`)
    this.addSql(`alter table "messages" drop column "attachments"`)
  }
}
