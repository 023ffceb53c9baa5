import { Migration } from '@mikro-orm/migrations'

/** Standard names: the function that guards an account, and the version of a delivery target's schedule. */
export class Migration20261123162000_account_guard extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(guard('account_guard'))
    this.addSql('drop function account_lives')
    this.addSql('alter table "delivery_targets" rename column "touched" to "version"')
  }

  override down(): void {
    this.addSql('alter table "delivery_targets" rename column "version" to "touched"')
    this.addSql(guard('account_lives'))
    this.addSql('drop function account_guard')
  }
}

/** The body names the parameter by the function's name: renaming the function would break it. */
const guard = (name: string): string =>
  `create function ${name}(id text) returns boolean language plpgsql as $$
   begin
     perform pg_advisory_xact_lock_shared(hashtextextended(id, 0));
     return exists (select from accounts a where a.id = ${name}.id and a.deleted_at is null);
   end $$`
