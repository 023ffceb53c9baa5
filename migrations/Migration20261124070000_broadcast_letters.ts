import { Migration } from '@mikro-orm/migrations'

/** What a broadcast sends is fixed when it is sent; drafts choose a sender and a Reply-To. */
export class Migration20261124070000_broadcast_letters extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "broadcasts" add column "sender" text null, add column "reply_to" text null,
      add column "tested_version" int null, add column "letter" jsonb null`)
  }

  override down(): void {
    this.addSql(
      `alter table "broadcasts" drop column "sender", drop column "reply_to", drop column "tested_version", drop column "letter"`,
    )
  }
}
