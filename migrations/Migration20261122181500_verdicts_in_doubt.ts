import { Migration } from '@mikro-orm/migrations'

/** An index on verification results without a DNS answer, so that they can be checked again. */
export class Migration20261122181500_verdicts_in_doubt extends Migration {
  static readonly change = 'contract'

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
