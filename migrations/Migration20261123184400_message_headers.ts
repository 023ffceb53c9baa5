import { Migration } from '@mikro-orm/migrations'

/** An email has headers of its own. */
export class Migration20261123184400_message_headers extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "messages" add "headers" jsonb null`)
  }

  override down(): void {
    this.addSql(`alter table "messages" drop column "headers"`)
  }
}
