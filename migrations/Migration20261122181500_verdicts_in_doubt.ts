import { Migration } from '@mikro-orm/migrations'

/** Verdicts that DNS gave no answer for are found by that, whatever else they say of the address. */
export class Migration20261122181500_verdicts_in_doubt extends Migration {
  override up(): void {
    this.addSql(`drop index "addresses_unknown_domain_index"`)
    this.addSql(
      `create index "addresses_in_doubt_index" on "addresses" ("domain", "account_id", "email") where "verification_status" <> 'valid' and "verification_reasons" && '{dns_timeout,dns_error}'::text[]`,
    )
  }

  override down(): void {
    this.addSql(`drop index "addresses_in_doubt_index"`)
    this.addSql(
      `create index "addresses_unknown_domain_index" on "addresses" ("domain") where "verification_status" = 'unknown'`,
    )
  }
}
