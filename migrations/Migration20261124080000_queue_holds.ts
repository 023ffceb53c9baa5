import { Migration } from '@mikro-orm/migrations'

/** Queues that an operator has paused. `svc db restore --hold` may have created the table before this migration runs. */
export class Migration20261124080000_queue_holds extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `create table if not exists queue_holds (queue text not null, held_at timestamptz not null, primary key (queue))`,
    )
  }

  override down(): void {
    this.addSql(`drop table queue_holds`)
  }
}
