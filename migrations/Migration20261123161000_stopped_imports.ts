import { Migration } from '@mikro-orm/migrations'

/** Interrupted imports have the status stopped. */
export class Migration20261123161000_stopped_imports extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "imports" drop constraint "imports_status_check"`)
    this.addSql(
      `alter table "imports" add constraint "imports_status_check" check ("status" in ('running', 'stopped', 'done'))`,
    )
  }

  override down(): void {
    this.addSql(`update "imports" set "status" = 'running' where "status" = 'stopped'`)
    this.addSql(`alter table "imports" drop constraint "imports_status_check"`)
    this.addSql(`alter table "imports" add constraint "imports_status_check" check ("status" in ('running', 'done'))`)
  }
}
