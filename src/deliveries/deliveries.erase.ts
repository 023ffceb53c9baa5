import type { Work } from '../store/work.ts'
import { cancelled, notifyEnded } from './deliveries.cancel.ts'
import { notifyTargetsChanged } from './deliveries.notices.ts'

/*
 * Deliveries contain personal data only in the posted texts. An erasure searches the texts of the account's events of the last 30
 * days; an index for this rare search would slow down every insert. An erased text keeps its envelope and is not replayed.
 */

/** Replaces the data of an event, or a body. JSON.stringify never produces this text. */
const erasedData = '{ }'
const erasedEnd = `,"data":${erasedData}}`

/** SQL condition: whether the text of `ended_deliveries d` was erased. */
export const isErased = `coalesce(d.body = '${erasedData}', exists (
  select from events e where e.account_id = d.account_id and e.id = d.key and right(e.payload, ${erasedEnd.length}) = '${erasedEnd}'
))`

type Reader = Pick<Work, 'sql' | 'accountId'>

/** All event builders write the address of a contact, deal, recipient or attendee in this form. */
const naming = (email: string): string => `"email":${JSON.stringify(email)}`

/** Returns the account's events that contain a normalised address, oldest first. */
export const eventsNaming = ({ sql, accountId }: Reader, email: string): Promise<{ id: string; payload: string }[]> =>
  sql('select id, payload from events where account_id = $1 and strpos(payload, $2) > 0 order by id', [
    accountId,
    naming(email),
  ])

/** SQL join: the events `e` of the account of `row` whose ids have the same time as the id of `row`. */
export const joinEventsAt = (row: string) => `
  join events e on e.account_id = ${row}.account_id
    and e.id between 'evt_' || substr(${row}.id, 5, 10) and 'evt_' || substr(${row}.id, 5, 10) || 'zzzzzzzzzzzzzzzz'`

// Both use the primary key, because ids begin with a time: an event and its deliveries have the same time, deliveries of a caller
// a later one than the caller.
const ofEvents = (table: string) => `
  select d.* from unnest($2::text[]) as e(id) join ${table} d on d.account_id = $1 and d.key = e.id
    and d.id between 'dlv_' || substr(e.id, 5, 10) and 'dlv_' || substr(e.id, 5, 10) || 'zzzzzzzzzzzzzzzz'`
const ofCallers = (table: string) => `
  select d.* from ${table} d where d.account_id = $1 and d.body is not null and split_part(d.key, ':', 1) = any($2::text[])
    and d.id >= 'dlv_' || (select min(substr(id, 5, 10)) from unnest($2::text[]) as c(id))`

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

const shownOf = (found: string) => `
  select id, key as "eventId", target_id as "webhookId", type, status, body::json as body, attempts, ${epochMs('created_at')} as "createdAt",
    ${epochMs('finished_at')} as "finishedAt"
  from (${found}) d order by id`

/** Returns the deliveries of events, as `svc contacts export --email` shows them. */
export const deliveriesOfEvents = ({ sql, accountId }: Reader, ids: readonly string[]): Promise<object[]> =>
  sql(shownOf(ofEvents('deliveries')), [accountId, ids])

/** Returns the deliveries of callers (their keys begin with the caller's id and a colon), in the same form. */
export const deliveriesOfCallers = ({ sql, accountId }: Reader, ids: readonly string[]): Promise<object[]> =>
  sql(shownOf(ofCallers('deliveries')), [accountId, ids])

const blankAttempts = `(
  select coalesce(jsonb_agg(a.attempt || '{"snippet":""}' order by a.n), '[]')
  from jsonb_array_elements(d.attempts) with ordinality as a(attempt, n)
)`

const blankEnded = (found: string) => `
  update ended_deliveries d set attempts = ${blankAttempts}, body = case when d.body is not null then '${erasedData}' end
  from (${found}) f where d.account_id = f.account_id and d.id = f.id`

// Pending deliveries move to history first; a later statement blanks them there.
const cancelling = (found: string) => `
  with ${cancelled(`select account_id, id from (${found} order by d.id for update of d) d`)}
  select id, target_id as "targetId", jsonb_array_length(attempts) as attempts from gone`

const erase = async (work: Work, of: (table: string) => string, ids: readonly string[]): Promise<void> => {
  const { sql, accountId } = work
  const rows = await sql<{ id: string; targetId: string; attempts: number }>(cancelling(of('pending_deliveries')), [
    accountId,
    ids,
  ])
  await sql(blankEnded(of('ended_deliveries')), [accountId, ids])
  const ended = { status: 'cancelled', lastStatus: null, lastError: 'The contact was erased' } as const
  await notifyEnded(
    work,
    rows.map(({ id, attempts }) => ({ id, attempts, ...ended })),
  )
  await notifyTargetsChanged(sql, [...new Set(rows.map(({ targetId }) => targetId))])
}

/** Blanks events and the receivers' answers to them, and cancels their pending deliveries. */
export const eraseEvents = async (work: Work, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return
  await work.sql(
    `update events set payload = left(payload, strpos(payload, ',"data":') - 1) || '${erasedEnd}'
     where account_id = $1 and id = any($2)`,
    [work.accountId, ids],
  )
  await erase(work, ofEvents, ids)
}

/** Blanks bodies of callers and the receivers' answers, cancels the pending deliveries, and notifies the callers. */
export const eraseCalls = async (work: Work, callerIds: readonly string[]): Promise<void> => {
  if (callerIds.length > 0) await erase(work, ofCallers, callerIds)
}
