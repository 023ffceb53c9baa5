import { Migration } from '@mikro-orm/migrations'

/** The clock of development databases. Generated from the entity, then read. */
export class Migration20261121160000_clock extends Migration {
  override up(): void {
    this.addSql(`create table "development_clock" ("id" int not null, "offset_ms" bigint not null, primary key ("id"))`)
    this.addSql(
      `create or replace function svc_now() returns timestamptz language sql stable as $$
        select clock_timestamp() + make_interval(secs => coalesce((select offset_ms from development_clock), 0) / 1000.0)
      $$`,
    )
  }
}
