import { Migration } from '@mikro-orm/migrations'

/** Payment sessions store the key that opened them. The previous key is kept, so that its sessions can be ended. */
export class Migration20261123110000_former_payment_keys extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `alter table "payment_providers" add column "former_sealed_key" text null, add column "former_sealed_webhook_secret" text null`,
    )
    this.addSql(`alter table "payment_orders" add column "session_key" text collate "C" null`)
  }

  override down(): void {
    this.addSql(`alter table "payment_orders" drop column "session_key"`)
    this.addSql(
      `alter table "payment_providers" drop column "former_sealed_key", drop column "former_sealed_webhook_secret"`,
    )
  }
}
