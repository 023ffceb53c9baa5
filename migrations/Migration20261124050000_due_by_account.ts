import { Migration } from '@mikro-orm/migrations'

/** Schedulers find what is due account by account, and skip the accounts that are being deleted. */
export class Migration20261124050000_due_by_account extends Migration {
  static readonly change = 'expand'

  override isTransactional(): boolean {
    return false
  }

  override up(): void {
    this.addSql(
      `create index concurrently if not exists webinar_registrations_due_index on webinar_registrations (account_id, remind_at) where remind_at is not null`,
    )
    this.addSql(
      `create index concurrently if not exists broadcasts_due_index on broadcasts (account_id, coalesce(scheduled_at, created_at)) where finished_at is null and status <> 'draft'`,
    )
    this.addSql(
      `create index concurrently if not exists bookings_due_index on bookings (account_id, remind_at) where remind_at is not null`,
    )
  }

  override down(): void {
    this.addSql(`drop index bookings_due_index`)
    this.addSql(`drop index broadcasts_due_index`)
    this.addSql(`drop index webinar_registrations_due_index`)
  }
}
