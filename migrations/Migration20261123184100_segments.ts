import { Migration } from '@mikro-orm/migrations'

/** Named filters of the contacts of lists. */
export class Migration20261123184100_segments extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`create table "segments" ("id" text collate "C" not null, "account_id" text collate "C" not null, "name" text not null,
      "list_id" text collate "C" not null, "filter" text not null, "created_at" timestamptz not null, primary key ("id"))`)
    this.addSql(`alter table "segments" add constraint "segments_account_id_name_unique" unique ("account_id", "name")`)
  }

  override down(): void {
    this.addSql(`drop table "segments"`)
  }
}
