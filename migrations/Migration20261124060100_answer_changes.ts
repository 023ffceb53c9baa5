import { Migration } from '@mikro-orm/migrations'

/** A recipient can change an answer only so often. */
export class Migration20261124060100_answer_changes extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table interactions add column changes int not null default 0`)
  }

  override down(): void {
    this.addSql(`alter table interactions drop column changes`)
  }
}
