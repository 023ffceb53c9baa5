import { Migration } from '@mikro-orm/migrations'

/** Rows of `message_people` are written without `news`, which a later contraction drops. */
export class Migration20261129120000_news_of_people extends Migration {
  static readonly change = 'expand'

  override up(): void {
    this.addSql(`alter table "message_people" alter column "news" set default 0`)
  }

  override down(): void {
    this.addSql(`alter table "message_people" alter column "news" drop default`)
  }
}
