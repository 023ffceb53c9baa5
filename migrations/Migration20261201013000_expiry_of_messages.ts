import { Migration } from '@mikro-orm/migrations'

/** The time from which a queued message is no longer sent. */
export class Migration20261201013000_expiry_of_messages extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "message_queue" add column "expires_at" timestamptz null`)
  }

  override down(): void {
    this.addSql(`alter table "message_queue" drop column "expires_at"`)
  }
}
