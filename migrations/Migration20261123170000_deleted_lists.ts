import { Migration } from '@mikro-orm/migrations'

/** The table of lists whose contacts are being deleted gets the name of what it holds. */
export class Migration20261123170000_deleted_lists extends Migration {
  static readonly change = 'contract'

  override up(): void {
    this.rename('leaving_lists', 'deleted_lists')
  }

  override down(): void {
    this.rename('deleted_lists', 'leaving_lists')
  }

  private rename(from: string, to: string): void {
    this.addSql(`alter table "${from}" rename to "${to}"`)
    this.addSql(`alter index "${from}_pkey" rename to "${to}_pkey"`)
    this.addSql(`alter index "${from}_account_id_index" rename to "${to}_account_id_index"`)
  }
}
