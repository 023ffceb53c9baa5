import { Migration } from '@mikro-orm/migrations'

/** Evidence of consents: confirmed signups of forms, with the fields that the form had. */
export class Migration20261124092000_form_consents extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table form_consents (account_id text collate "C" not null, id text collate "C" not null, email text collate "C" not null,
         list_id text collate "C" not null, form_id text collate "C" not null, form_name text not null, fields jsonb not null,
         address text null, at timestamptz not null, primary key (account_id, id))`,
    )
    this.addSql(`create index form_consents_email_index on form_consents (account_id, email)`)
    this.addSql(`alter table form_signups add column shown jsonb null`)
  }

  override down(): void {
    this.addSql(`alter table form_signups drop column shown`)
    this.addSql(`drop table form_consents`)
  }
}
