import { p } from '@mikro-orm/postgresql'

/** The account column of a tenant's row. Operations set it from their unit of work, never from input. */
export const owned = { accountId: p.text().collation('C') }

/** Reads, counts and native updates see the account's rows only; without an account every find throws (fails closed). */
export const tenantFilter = {
  tenant: {
    name: 'tenant',
    cond: (args: { accountId: string }) => ({ accountId: args.accountId }),
    default: true,
    args: true,
  },
}
