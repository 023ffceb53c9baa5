import { Migration } from '@mikro-orm/migrations'

/**
 * The clock of development databases, generated from the entity. By hand: `svc_now()` returns the database's time. It is stable, so
 * index conditions can use it. In a filter it runs once per row (5 µs): write `(select svc_now())` there.
 */
export class Migration20261121160000_clock extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`create table "development_clock" ("id" int not null, "offset_ms" bigint not null, primary key ("id"))`)
    this.addSql(
      `create function svc_now() returns timestamptz language sql stable
       return statement_timestamp() + coalesce((select offset_ms from development_clock), 0) * interval '1 millisecond'`,
    )
  }
}
