import { Migration } from '@mikro-orm/migrations'

/** Width and height of logos, which emails need as attributes. */
export class Migration20261124133000_logo_size extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "brands" add column "logo_width" int null, add column "logo_height" int null`)
  }

  override down(): void {
    this.addSql(`alter table "brands" drop column "logo_width", drop column "logo_height"`)
  }
}
