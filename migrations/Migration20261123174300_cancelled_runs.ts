import { Migration } from '@mikro-orm/migrations'

/** Runs that an operator ended, or whose journey was deleted, have the status cancelled. */
export class Migration20261123174300_cancelled_runs extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.addSql(`alter table "journey_runs" drop constraint "journey_runs_status_check"`)
    this.addSql(
      `alter table "journey_runs" add constraint "journey_runs_status_check" check ("status" in ('running', 'waiting', 'completed', 'exited', 'failed', 'cancelled'))`,
    )
  }

  override down(): void {
    this.addSql(`update "journey_runs" set "status" = 'exited' where "status" = 'cancelled'`)
    this.addSql(`alter table "journey_runs" drop constraint "journey_runs_status_check"`)
    this.addSql(
      `alter table "journey_runs" add constraint "journey_runs_status_check" check ("status" in ('running', 'waiting', 'completed', 'exited', 'failed'))`,
    )
  }
}
