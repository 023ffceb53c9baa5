import { Migration } from '@mikro-orm/migrations'

/** Bindings choose a subject and a sender. */
export class Migration20261124070100_binding_senders extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "lifecycle_bindings" add column "subject_line" text null, add column "sender" text null`)
  }

  override down(): void {
    this.addSql(`alter table "lifecycle_bindings" drop column "subject_line", drop column "sender"`)
  }
}
