import type { Sql } from '../../../src/store/database.ts'
import type { Ledger } from './ledger.ts'
import type { World } from './world.ts'

/** The input of a check: the database once everything is settled, and what was acknowledged. */
export interface Found {
  world: World
  ledger: Ledger
  sql: Sql
  /** Records a violation. */
  violated(what: string): void
}

/** Compares the values found with the values expected, by key; missing, extra and different ones are violations. */
export const compare = <T>(
  { violated }: Pick<Found, 'violated'>,
  what: string,
  found: ReadonlyMap<string, T>,
  expected: ReadonlyMap<string, T>,
): void => {
  const shown = (keys: string[]) => `${keys.length}: ${keys.slice(0, 5).join('; ')}`
  const missing = [...expected.keys()].filter((key) => !found.has(key))
  const extra = [...found.keys()].filter((key) => !expected.has(key))
  const wrong = [...expected].flatMap(([key, value]) => {
    const other = found.get(key)
    if (other === undefined || JSON.stringify(other) === JSON.stringify(value)) return []
    return `${key} is ${JSON.stringify(other)}, not ${JSON.stringify(value)}`
  })
  if (missing.length > 0) violated(`${what} missing, ${shown(missing)}`)
  if (extra.length > 0) violated(`${what} that nobody acknowledged, ${shown(extra)}`)
  if (wrong.length > 0) violated(`${what} wrong, ${shown(wrong)}`)
}

/** Returns how often each key occurs. */
export const tallied = (keys: Iterable<string>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

const sorted = (fields: Record<string, string>) => Object.fromEntries(Object.entries(fields).sort())

export const checkContacts = async (found: Found): Promise<void> => {
  const { ledger, sql, violated } = found
  const rows = await sql<{ place: string; fields: Record<string, string> }>(
    `select list_id || ' ' || email as place, fields from contacts`,
  )
  compare(
    found,
    'contacts',
    new Map(rows.map(({ place, fields }) => [place, sorted(fields)])),
    new Map([...ledger.contacts].map(([place, { fields }]) => [place, sorted(fields)])),
  )
  const lists = await sql<{ name: string; counted: number; real: number }>(
    `select l.name, l.row_count as counted, (select count(*)::int from contacts c where c.list_id = l.id) as real from contact_lists l`,
  )
  for (const { name, counted, real } of lists)
    if (counted !== real) violated(`the list ${name} counts ${counted} contacts and has ${real}`)
  const [account] = await sql<{ counted: number; addresses: number; real: number }>(
    `select contact_count as counted, (select count(*)::int from addresses) as addresses,
       (select count(distinct email)::int from contacts) as real from accounts`,
  )
  const { counted, addresses, real } = account!
  if (counted !== real || addresses !== real)
    violated(`the account counts ${counted} contacts, has ${addresses} addresses and ${real} of them in lists`)
}

export const checkImports = async (found: Found): Promise<void> => {
  const { ledger, sql, violated, world } = found
  const known = ledger.imports.map((row) => row.id)
  const rows = await sql<Ledger['imports'][number] & { status: string }>(
    `select id, rows_done as rows, created, updated, unchanged, status from imports where id = any($1)`,
    [known],
  )
  for (const { id, rows: done, created, updated, unchanged, status } of rows) {
    const printed = ledger.imports.find((row) => row.id === id)!
    if (status !== 'done' || done !== printed.rows || created !== printed.created)
      violated(
        `the import ${id} is ${status} with ${done} rows, ${created} created, and printed ${JSON.stringify(printed)}`,
      )
    if (created + updated + unchanged !== done)
      violated(`the import ${id} counts ${created + updated + unchanged} of ${done} rows`)
  }
  const created = rows.reduce((sum, row) => sum + row.created, 0)
  const [list] = await sql<{ rows: number }>('select row_count as rows from contact_lists where id = $1', [
    world.lists.imported,
  ])
  if (created !== list!.rows) violated(`the imports created ${created} contacts, their list has ${list!.rows}`)
}

export const checkDeals = async (found: Found): Promise<void> => {
  const rows = await found.sql<{ id: string; title: string; value: string; path: string[]; stage: string }>(
    `select d.id, d.title, d.value::text, d.stage_id as stage, (
       select array_agg(h.to_stage_id order by h.number) from deal_history h where h.deal_id = d.id
     ) as path from deals d`,
  )
  const state = (title: string, value: string, path: readonly string[], stage: string) => ({
    title,
    value: Number(value),
    path,
    stage,
  })
  compare(
    found,
    'deals',
    new Map(rows.map(({ id, title, value, path, stage }) => [id, state(title, value, path, stage)])),
    new Map(
      found.ledger.deals.map(({ id, title, value, stages }) => [id, state(title, value, stages, stages.at(-1)!)]),
    ),
  )
}

export const checkRuns = async (found: Found): Promise<void> => {
  const rows = await found.sql<{ email: string; status: string; reason: string | null; log: string }>(
    `select email, status, reason, (
       select string_agg(kind, ' ' order by step_no) from journey_step_log l where l.run_id = r.id
     ) as log from journey_runs r`,
  )
  const ended = ({ status, reason, log }: Omit<(typeof rows)[number], 'email'>) => ({ status, reason, log })
  const good = ended({ status: 'completed', reason: null, log: 'delay send-email webhook' })
  compare(
    found,
    'journey runs',
    new Map(rows.map((row) => [row.email, ended(row)])),
    new Map(found.ledger.travellers.map((email) => [email, good])),
  )
  if (rows.length !== new Set(rows.map(({ email }) => email)).size)
    found.violated('a contact entered the journey twice')
}

export const checkSeats = async (found: Found): Promise<void> => {
  const { ledger, sql, violated, world } = found
  const rows = await sql<{ place: string; status: string }>(
    `select webinar_id || ' ' || email as place, status from webinar_registrations`,
  )
  compare(
    found,
    'registrations',
    new Map(rows.map(({ place, status }) => [place, status])),
    new Map(ledger.seats.map(({ webinarId, email, status }) => [`${webinarId} ${email}`, status as string])),
  )
  const counts = await sql<{ id: string; registered: number; waiting: number; confirmed: number; waitlisted: number }>(
    `select w.id, registered_count as registered, waitlisted_count as waiting,
       count(r.*) filter (where r.status = 'confirmed')::int as confirmed,
       count(r.*) filter (where r.status = 'waitlisted')::int as waitlisted
     from webinars w left join webinar_registrations r on r.webinar_id = w.id group by w.id, w.account_id, 2, 3`,
  )
  for (const { id, registered, waiting, confirmed, waitlisted } of counts) {
    if (registered !== confirmed || waiting !== waitlisted)
      violated(`the webinar ${id} counts ${registered}+${waiting} and has ${confirmed}+${waitlisted}`)
    const { capacity } = world.webinars.find((webinar) => webinar.id === id)!
    if (confirmed !== Math.min(capacity ?? Number.POSITIVE_INFINITY, confirmed + waitlisted))
      violated(`the webinar ${id} of ${capacity} seats has ${confirmed} confirmed, ${waitlisted} waiting`)
  }
}
