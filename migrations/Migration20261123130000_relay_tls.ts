import { Migration } from '@mikro-orm/migrations'

/** A relay's password is not sent without TLS unless the operator allows it. */
export class Migration20261123130000_relay_tls extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "relays" add column "is_tls_optional" boolean not null default false`)
  }

  override down(): void {
    this.addSql(`alter table "relays" drop column "is_tls_optional"`)
  }
}
