import { readContactsLeft } from '../../accounts/accounts.ts'
import { isWanted } from '../../events/emit.ts'
import type { App } from '../../store/work.ts'
import type { Fields } from '../contacts.fields.ts'
import type { Outcome } from '../write/write-contacts.ts'
import { type Batch, readBatches } from './batch.ts'
import type { ImportOptions } from './checkpoint.ts'
import { addCounts, type Counts, countRows, noCounts } from './counts.ts'
import { countOptedOut, type OptedOut } from './opted-out.ts'
import type { Prepared } from './prepare.ts'
import { createReasonCounts } from './rejects.ts'
import type { OptOutReason } from './vendors.ts'

type ContactEvent = 'contact.created' | 'contact.updated'

interface Preview extends Counts {
  rows: number
  /** The number of events that would fire, by type. It is 0 without subscribers. */
  events: Record<ContactEvent, number>
  /** Whether each type has a subscriber. */
  wanted: Record<ContactEvent, boolean>
  /** How many addresses have opted out of email elsewhere, by the column that says so. An import makes them active. */
  optedOut: OptedOut
  /** Rows that become suppressions, by reason. */
  reasons: Partial<Record<OptOutReason, number>>
  /** Rows whose person has left a kind of email, by its name. */
  left: Record<string, number>
  /** Contacts that would be added without being active: they have not agreed elsewhere, or are suppressed here. */
  pending: number
  /** The most frequent reasons of rejects. */
  rejects: { reason: string; rows: number }[]
  /** The names of all fields in the file. */
  names: ReadonlySet<string>
}

/** The most names of fields that are remembered. A list takes 40, so `requireColumns` refuses them all the same. */
const maxNames = 1000

interface Known {
  email: string
  /** The fields of the contact in the list after the previous rows. They are null if it is not in the list. */
  fields: Fields | null
  /** Whether the address is in the account after the previous rows. */
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

/** Returns the outcome of a write of these fields. */
const outcomeOf = (known: Known | undefined, fields: Fields, keepExisting: boolean, hasCapacity: boolean): Outcome => {
  if (known?.fields) {
    const held = known.fields
    return !keepExisting && Object.entries(fields).some(([name, value]) => held[name] !== value)
      ? 'updated'
      : 'unchanged'
  }
  return known?.isKnown || hasCapacity ? 'created' : 'skipped'
}

interface Plan {
  batch: Batch
  known: ReadonlyMap<string, Known>
  keepExisting: boolean
  capacity: number
}

/** Returns the outcome of each address of a batch, the contacts that would be written, and the number of new addresses. */
const planBatch = ({ batch, known, keepExisting, capacity }: Plan) => {
  const outcomes = new Map<string, Outcome>()
  const written: { email: string; fields: Fields }[] = []
  let taken = 0
  for (const { email, fields } of batch.writes) {
    const before = known.get(email)
    const outcome = outcomeOf(before, fields, keepExisting, taken < capacity)
    outcomes.set(email, outcome)
    if (outcome !== 'created' && outcome !== 'updated') continue
    written.push({ email, fields: { ...before?.fields, ...fields } })
    if (outcome === 'created' && !before?.isKnown) taken++
  }
  return { outcomes, written, taken }
}

const tally = (outcomes: ReadonlyMap<string, Outcome>, outcome: Outcome): number =>
  outcomes.values().reduce((sum, found) => sum + Number(found === outcome), 0)

/** Returns whether events of each kind have subscribers. */
const wantedEvents = (app: App, accountId: string) =>
  app.work(accountId, 'cli:preview', async (work) => ({
    'contact.created': await isWanted(work, 'contact.created'),
    'contact.updated': await isWanted(work, 'contact.updated'),
  }))

/**
 * Returns what an import would do, without locks or writes to the product's tables. A temporary table keeps the simulated contacts, so
 * memory stays constant. `listId` null: the list would be created.
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
  const wanted = options.events
    ? await wantedEvents(app, accountId)
    : { 'contact.created': false, 'contact.updated': false }
  let capacity = await readContactsLeft({ sql: app.sql, accountId })
  const connection = await app.database.connect()
  const suppressing = columns.read && (await app.suppressing())
  const reasons = createReasonCounts()
  const names = new Set<string>()
  const query: Query = async (text, params = []) => (await connection.query(text, params)).rows
  const result: Preview = {
    ...noCounts(),
    rows: 0,
    events: { 'contact.created': 0, 'contact.updated': 0 },
    wanted,
    optedOut: {},
    reasons: {},
    left: {},
    pending: 0,
    rejects: [],
    names,
  }
  try {
    await query('create temporary table seen (email text collate "C" primary key, fields jsonb not null)')
    for await (const batch of readBatches(rows, { columns, keepFirst: keepExisting, skip: 0 })) {
      const known = new Map((await lookUp(query, accountId, listId, batch)).map((row) => [row.email, row]))
      const { outcomes, written, taken } = planBatch({ batch, known, keepExisting, capacity })
      await remember(query, written)
      capacity -= taken
      Object.assign(result, addCounts(result, countRows(batch, outcomes)))
      if (wanted['contact.created']) result.events['contact.created'] += tally(outcomes, 'created')
      if (wanted['contact.updated']) result.events['contact.updated'] += tally(outcomes, 'updated')
      countOptedOut(batch, result.optedOut)
      for (const { fields } of batch.writes) {
        if (suppressing) for (const name in fields) if (names.size <= maxNames) names.add(name)
      }
      for (const [reason, rows] of batch.states?.suppressed ?? [])
        result.reasons[reason] = (result.reasons[reason] ?? 0) + rows
      for (const [topic, emails] of batch.states?.left ?? [])
        result.left[topic] = (result.left[topic] ?? 0) + emails.size
      for (const { reason } of batch.rejects) reasons.add(reason)
      if (suppressing) {
        const added = written.map(({ email }) => email).filter((email) => outcomes.get(email) === 'created')
        const suppressed = await suppressing.suppressedOf({ sql: app.sql, accountId }, added)
        result.pending += added.filter((email) => suppressed.has(email) || batch.states?.pending.has(email)).length
      }
      result.rows += batch.rows
      onBatch(result.rows)
    }
    result.rejects = reasons.frequent()
    return result
  } finally {
    await connection.end()
  }
}
