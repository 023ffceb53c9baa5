import { Migration } from '@mikro-orm/migrations'

/**
 * Accounts can be exported to another installation: meanwhile and afterwards no unit of work of them begins here. Daemons of the
 * version before keep `account_guard`; no account is exported beside them.
 */
export class Migration20261124090000_account_moves extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "accounts" add column "move" text null, add column "move_id" text null`)
    this.addSql(
      `create function account_works(id text) returns boolean language plpgsql as $$
       begin
         perform pg_advisory_xact_lock_shared(hashtextextended(id, 0));
         return exists (
           select from accounts a
           where a.id = account_works.id and a.deleted_at is null and (a.move is null or a.move = 'closing')
         );
       end $$`,
    )
  }

  override down(): void {
    this.addSql('drop function account_works')
    this.addSql(`alter table "accounts" drop column "move", drop column "move_id"`)
  }
}
