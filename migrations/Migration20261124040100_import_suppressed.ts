import { Migration } from '@mikro-orm/migrations'

/** Counts the rows of imports whose person has opted out elsewhere. */
export class Migration20261124040100_import_suppressed extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table imports add column suppressed int not null default 0`)
  }

  override down(): void {
    this.addSql(`alter table imports drop column suppressed`)
  }
}
