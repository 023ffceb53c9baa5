import { Migration } from '@mikro-orm/migrations'

/** Stores the daemon's settings, which `svc doctor` compares with its own. */
export class Migration20261123160000_daemon_settings extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "installation" add column "daemon_settings" jsonb null`)
  }

  override down(): void {
    this.addSql(`alter table "installation" drop column "daemon_settings"`)
  }
}
