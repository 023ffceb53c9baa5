import { isWanted } from '../events/emit.ts'
import type { App } from '../store/work.ts'
import type { Fields } from './contacts.fields.ts'
import type { Outcome } from './contacts.write.ts'
import { type Batch, readBatches } from './imports.batch.ts'
import type { ImportOptions } from './imports.checkpoint.ts'
import { addCounts, type Counts, countRows, noCounts } from './imports.counts.ts'
import type { Prepared } from './imports.prepare.ts'

export interface Preview extends Counts {
  rows: number
  /** How many events would fire, by type; 0 where nobody is subscribed. */
  events: { 'contact.created': number; 'contact.updated': number }
}

interface Known {
  email: string
  /** Of the contact in the list, with what the rows so far made of it; null where it is not in the list. */
  fields: Fields | null
  /** Whether the address is the account's already, or became so by the rows so far. */
  isKnown: boolean
}

type Query = <Row extends object>(text: string, params?: unknown[]) => Promise<Row[]>

const lookUp = (query: Query, accountId: string, listId: string | null, batch: Batch): Promise<Known[]> =>
  query<Known>(
    `select e.email, coalesce(s.fields, c.fields) as fields, s.email is not null or a.email is not null as "isKnown"
     from unnest($3::text[]) as e(email)
     left join pg_temp.seen s on s.email = e.email
     left join contacts c on c.account_id = $1 and c.email = e.email and c.list_id = $2
     left join addresses a on a.account_id = $1 and a.email = e.email`,
    [accountId, listId, batch.writes.map((write) => write.email)],
  )

const remember = (query: Query, seen: readonly { email: string; fields: Fields }[]): Promise<object[]> =>
  query(
    `insert into pg_temp.seen select email, fields from jsonb_to_recordset($1::jsonb) as r (email text, fields jsonb)
     on conflict (email) do update set fields = excluded.fields`,
    [JSON.stringify(seen)],
  )

/** Places that the plan has left for new addresses. */
const placesLeft = async ({ sql }: Pick<App, 'sql'>, accountId: string): Promise<number> => {
  const [plan] = await sql<{ places: number | null }>(
    'select p.contacts - a.contact_count as places from accounts a join plans p on p.name = a.plan where a.id = $1',
    [accountId],
  )
  return Math.max(0, plan?.places ?? Number.POSITIVE_INFINITY)
}

/** What a write of these fields would do to what is there. */
const outcomeOf = (known: Known | undefined, fields: Fields, keepExisting: boolean, hasPlace: boolean): Outcome => {
  if (known?.fields) {
    const held = known.fields
    return !keepExisting && Object.entries(fields).some(([name, value]) => held[name] !== value)
      ? 'updated'
      : 'unchanged'
  }
  return known?.isKnown || hasPlace ? 'created' : 'skipped'
}

/**
 * What an import would do, with nothing written: no lock is taken and no row of the product is touched. What the rows so
 * far would have made stands in a temporary table, so that memory stays constant. `listId` null: the list is to be made.
 */
export const previewImport = async (
  app: App,
  accountId: string,
  listId: string | null,
  { columns, rows }: Prepared,
  options: Pick<ImportOptions, 'onConflict' | 'events'>,
  onBatch: (rows: number) => void = () => {},
): Promise<Preview> => {
  const keepExisting = options.onConflict === 'skip'
  let places = await placesLeft(app, accountId)
  const wanted = await app.work(accountId, 'cli:preview', async (work) => ({
    created: options.events && (await isWanted(work, 'contact.created')),
    updated: options.events && (await isWanted(work, 'contact.updated')),
  }))
  const connection = await app.database.connect()
  const query: Query = async (text, params = []) => (await connection.query(text, params)).rows
  const events = { 'contact.created': 0, 'contact.updated': 0 }
  let counts = noCounts()
  let done = 0
  try {
    await query('create temporary table seen (email text collate "C" primary key, fields jsonb not null)')
    for await (const batch of readBatches(rows, { columns, keepFirst: keepExisting, skip: 0 })) {
      const known = new Map((await lookUp(query, accountId, listId, batch)).map((row) => [row.email, row]))
      const outcomes = new Map<string, Outcome>()
      const seen: { email: string; fields: Fields }[] = []
      for (const { email, fields } of batch.writes) {
        const before = known.get(email)
        const outcome = outcomeOf(before, fields, keepExisting, places > 0)
        outcomes.set(email, outcome)
        if (outcome === 'created' && !before?.isKnown) places--
        if (outcome === 'created' || outcome === 'updated') {
          seen.push({ email, fields: { ...before?.fields, ...fields } })
          if (wanted[outcome]) events[`contact.${outcome}`]++
        }
      }
      await remember(query, seen)
      counts = addCounts(counts, countRows(batch, outcomes))
      done += batch.rows
      onBatch(done)
    }
    return { ...counts, rows: done, events }
  } finally {
    await connection.end()
  }
}
