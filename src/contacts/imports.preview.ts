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
     left join lateral (select email, row_id from addresses where account_id = $1 and email = e.email limit 1) a on true
     left join lateral (
       select fields from contacts where account_id = $1 and row_id = a.row_id and list_id = $2 limit 1
     ) c on true`,
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

interface Plan {
  batch: Batch
  known: ReadonlyMap<string, Known>
  keepExisting: boolean
  places: number
}

/** What a batch would do to each address, what would then stand in the list, and how many places it would take. */
const planBatch = ({ batch, known, keepExisting, places }: Plan) => {
  const outcomes = new Map<string, Outcome>()
  const written: { email: string; fields: Fields }[] = []
  let taken = 0
  for (const { email, fields } of batch.writes) {
    const before = known.get(email)
    const outcome = outcomeOf(before, fields, keepExisting, taken < places)
    outcomes.set(email, outcome)
    if (outcome !== 'created' && outcome !== 'updated') continue
    written.push({ email, fields: { ...before?.fields, ...fields } })
    if (outcome === 'created' && !before?.isKnown) taken++
  }
  return { outcomes, written, taken }
}

const tally = (outcomes: ReadonlyMap<string, Outcome>, outcome: Outcome): number =>
  outcomes.values().reduce((sum, found) => sum + Number(found === outcome), 0)

/** Whether anybody would hear of each outcome. */
const wantedEvents = (app: App, accountId: string) =>
  app.work(accountId, 'cli:preview', async (work) => ({
    created: await isWanted(work, 'contact.created'),
    updated: await isWanted(work, 'contact.updated'),
  }))

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
  const wanted = options.events ? await wantedEvents(app, accountId) : { created: false, updated: false }
  let places = await placesLeft(app, accountId)
  const connection = await app.database.connect()
  const query: Query = async (text, params = []) => (await connection.query(text, params)).rows
  const result: Preview = { ...noCounts(), rows: 0, events: { 'contact.created': 0, 'contact.updated': 0 } }
  try {
    await query('create temporary table seen (email text collate "C" primary key, fields jsonb not null)')
    for await (const batch of readBatches(rows, { columns, keepFirst: keepExisting, skip: 0 })) {
      const known = new Map((await lookUp(query, accountId, listId, batch)).map((row) => [row.email, row]))
      const { outcomes, written, taken } = planBatch({ batch, known, keepExisting, places })
      await remember(query, written)
      places -= taken
      Object.assign(result, addCounts(result, countRows(batch, outcomes)))
      if (wanted.created) result.events['contact.created'] += tally(outcomes, 'created')
      if (wanted.updated) result.events['contact.updated'] += tally(outcomes, 'updated')
      result.rows += batch.rows
      onBatch(result.rows)
    }
    return result
  } finally {
    await connection.end()
  }
}
