/**
 * Returns a recursive common table expression `turn (account_id, due)` with the earliest due time of each account that has pending
 * rows. It reads one index entry for each of these accounts, so that an account can be skipped whatever it has pending. The table
 * needs an index on `(account_id, due)` with the condition `pending`; `due` is an expression of its columns.
 */
export const turnOfAccounts = (table: string, due: string, pending: string): string => `turn as (
     (select account_id, ${due} as due from ${table} where ${pending} order by account_id, ${due} limit 1)
     union all
     select n.account_id, n.due from turn t cross join lateral (
       select account_id, ${due} as due from ${table}
       where ${pending} and account_id > t.account_id order by account_id, ${due} limit 1
     ) n
   )`
