import { Migration } from '@mikro-orm/migrations'

/** The picture of a webinar, for its pages. */
export class Migration20261129080000_webinar_covers extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(
      `alter table "webinars" add column "cover" bytea null, add column "cover_type" text null, add column "cover_hash" text null, add column "cover_width" int null, add column "cover_height" int null`,
    )
  }

  override down(): void {
    this.addSql(
      `alter table "webinars" drop column "cover", drop column "cover_type", drop column "cover_hash", drop column "cover_width", drop column "cover_height"`,
    )
  }
}
