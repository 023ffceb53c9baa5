import { domainToUnicode } from 'node:url'
import { Migration } from '@mikro-orm/migrations'

/** Addresses are compared with their domain in Unicode: an index finds suppressions and contacts that have it in ASCII. */
export class Migration20261123140000_domains_in_unicode extends Migration {
  static readonly change = 'expand'

  override async up(): Promise<void> {
    for (const table of ['suppressions', 'addresses']) {
      const rows = (await this.execute(
        `select distinct "email" from "${table}" where "email" like '%@%xn--%'`,
      )) as unknown as { email: string }[]
      for (const { email } of rows) {
        const at = email.lastIndexOf('@') + 1
        const domain = domainToUnicode(email.slice(at))
        if (domain === '' || domain === email.slice(at)) continue
        const text = (value: string) => `'${value.replaceAll("'", "''")}'`
        const same = table === 'suppressions' ? ' and o."reason" = t."reason"' : ''
        this.addSql(
          `update "${table}" t set "email" = ${text(email.slice(0, at) + domain)} where t."email" = ${text(email)} and not exists
           (select from "${table}" o where o."account_id" = t."account_id" and o."email" = ${text(email.slice(0, at) + domain)}${same})`,
        )
      }
    }
  }

  // Both spellings are the same address.
  override down(): void {}
}
