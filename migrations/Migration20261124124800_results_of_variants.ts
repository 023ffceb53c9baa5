import { Migration } from '@mikro-orm/migrations'

/** A broadcast that has ended keeps how many emails of each variant were sent. The people who did something are found by broadcast. */
export class Migration20261124124800_results_of_variants extends Migration {
  static readonly change = 'expand'

  override isTransactional(): boolean {
    return false
  }

  override up(): void {
    this.addSql(`alter table "broadcasts" add column if not exists "variant_sent" jsonb null`)
    this.addSql(
      `create index concurrently if not exists "message_people_scope_index" on "message_people" ("account_id", "scope") where "link" = '' and "scope" >= ':'`,
    )
  }

  override down(): void {
    this.addSql(`drop index "message_people_scope_index"`)
    this.addSql(`alter table "broadcasts" drop column "variant_sent"`)
  }
}
