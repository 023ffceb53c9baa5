import pg from 'pg'
import type { Database } from './database.ts'

/** Columns of tables of accounts that hold addresses. */
export const addressColumns = ['email', 'reply_to']

/**
 * Columns of tables of accounts whose texts hold addresses that an erasure removes, also of a person who stands nowhere else: events, what
 * is posted, titles of deals and bookings, items of payments, filters, and definitions of journeys.
 */
export const textColumns = [
  ...['headers', 'payload', 'body', 'title', 'items'],
  ...['filter', 'audience', 'letter', 'definition', 'awaited_where'],
]

const character = String.raw`[^\s"<>(),;:@[\]\\]`
/** SQL from item, as `a`: what looks like an address in a text, as the first element of `a.found`. */
const addressesIn = (text: string): string =>
  `regexp_matches(${text}, '${character}+@${character}*[[:alnum:]]', 'g') as a(found)`

const rowsPerFetch = 5_000

/** Reads every address that any table of an account holds, each spelling once for its account, through a cursor. */
export const readHeldAddresses = async function* (
  database: Pick<Database, 'connect'>,
): AsyncGenerator<{ accountId: string; email: string }> {
  const connection = await database.connect()
  try {
    const { rows: columns } = await connection.query<{ table: string; column: string }>(
      `select c.relname as table, a.attname as column from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname = any($1::text[] || $2::text[])
       where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
         and exists (select from pg_attribute o where o.attrelid = c.oid and o.attname = 'account_id')
       order by 1, 2`,
      [addressColumns, textColumns],
    )
    const each = columns.flatMap(({ table, column }) => {
      const [from, held] = [pg.escapeIdentifier(table), pg.escapeIdentifier(column)]
      const within = `select account_id, a.found[1] as email from ${from} cross join lateral ${addressesIn(`${held}::text`)}`
      if (textColumns.includes(column)) return [within]
      // A rejected row of an import may hold several.
      return [
        `select account_id, ${held} as email from ${from} where ${held} <> ''`,
        `${within} where ${held} like '%@%@%'`,
      ]
    })
    await connection.query('begin')
    await connection.query(
      `declare held cursor for select distinct account_id as "accountId", email from (${each.join(' union all ')}) a`,
    )
    for (;;) {
      const { rows } = await connection.query(`fetch ${rowsPerFetch} from held`)
      if (rows.length === 0) return
      yield* rows as { accountId: string; email: string }[]
    }
  } finally {
    await connection.end()
  }
}
