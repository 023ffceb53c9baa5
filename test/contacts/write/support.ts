import type { TestAccount, TestApp } from '../../support/app.ts'
import type { ContactsApp } from '../support.ts'

/** The counters and the rows of the account, which must agree. `offset 0`: rows are looked up by key, whatever the statistics are. */
export const inexact = async ({ app }: TestApp, accountId: string) => {
  const [row] = await app.sql(
    `select
       (select count(*) from contacts c where account_id = $1
         and not exists (select from addresses a where a.account_id = $1 and a.email = c.email and a.row_id = c.row_id offset 0)) as lost,
       (select count(*) from addresses a where account_id = $1
         and not exists (select from contacts c where c.account_id = $1 and c.row_id = a.row_id and c.email = a.email offset 0)) as stray,
       (select contact_count from accounts where id = $1) - (select count(*) from addresses where account_id = $1) as account,
       (select coalesce(sum(abs(l.row_count - (select count(*) from contacts c where c.list_id = l.id))), 0)::int8
         from contact_lists l where account_id = $1) as lists`,
    [accountId],
  )
  return row
}
export const exact = { lost: 0, stray: 0, account: 0, lists: 0 }

/** Creates a list of `count` contacts without the API. */
export const createBigList = async (t: ContactsApp, account: TestAccount, count: number): Promise<string> => {
  const { id } = await t.list(account, 'Big')
  await t.app.sql(
    `with n as (select i, 'person' || lpad(i::text, 6, '0') || '@acme.test' as email from generate_series(0, $3 - 1) i),
     a as (insert into addresses (account_id, email, row_id, domain) select $1, email, 'row_' || i, 'acme.test' from n)
     insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
     select $1, email, $2, 'row_' || i, '{}', 'active', now(), now() from n`,
    [account.id, id, count],
  )
  await t.app.sql('update contact_lists set row_count = $2 where id = $1', [id, count])
  await t.app.sql('update accounts set contact_count = $2 where id = $1', [account.id, count])
  return id
}
