import { Migration } from '@mikro-orm/migrations'

/** Finds ended runs that still have the data of their trigger. */
export class Migration20261124010300_run_data extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create index "journey_runs_data_index" on "journey_runs" ("ended_at") where "ended_at" is not null and ("context" -> 'data') is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index "journey_runs_data_index"`)
  }
}
