import { Migration } from '@mikro-orm/migrations'

/** Events that programs report, and their idempotency keys. */
export class Migration20261124091000_activities extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table activities (account_id text collate "C" not null, id text collate "C" not null, email text collate "C" not null,
         name text collate "C" not null, data jsonb null, at timestamptz not null, primary key (account_id, id))`,
    )
    this.addSql(`create index activities_email_index on activities (account_id, email, name)`)
    this.addSql(
      `create table activity_keys (account_id text collate "C" not null, key text collate "C" not null,
         activity_id text collate "C" not null, journeys int not null, primary key (account_id, key))`,
    )
  }

  override down(): void {
    this.addSql(`drop table activity_keys`)
    this.addSql(`drop table activities`)
  }
}
