import { Migration } from '@mikro-orm/migrations'

/** A message can be sent at a later time. */
export class Migration20261123204400_scheduled_messages extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "messages" add "scheduled_at" timestamptz null`)
  }

  override down(): void {
    this.addSql(`alter table "messages" drop column "scheduled_at"`)
  }
}
