import { addressPattern, isRecognisable } from '../lib/erased.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { cancelled, notifyEnded } from './deliveries.cancel.ts'
import { events, pendingDeliveries } from './deliveries.columns.ts'
import { announceTargetsChanged } from './deliveries.notices.ts'

/*
 * Deliveries contain personal data only in the posted texts. An erasure searches the texts of the account's events of the last 30
 * days; an index for this rare search would slow down every insert. The address is locked meanwhile. An erased text keeps its envelope
 * and is not replayed. Figure (2026-11-22): 2.5 s for each million events of 600 bytes.
 */

/** Replaces the data of an event, or a body. JSON.stringify never produces this text. */
const erasedData = '{ }'
const erasedEnd = `,"data":${erasedData}}`

/** The SQL condition that the text of `ended_deliveries d` was erased. */
export const isErased = `coalesce(d.body = '${erasedData}', exists (
  select from events e where e.account_id = d.account_id and e.id = d.key and right(e.payload, ${erasedEnd.length}) = '${erasedEnd}'
))`

/** All event builders write the address of a contact, deal, recipient or attendee in this form. Texts in events, such as titles, may name it, too. */
const naming = (email: string): string => `"email":${JSON.stringify(email)}`

const findEventsNaming = statement(
  'find-events-naming',
  {
    row: types(events, 'id', 'payload'),
    parameters: { accountId: 'text', naming: 'text', part: 'text', pattern: 'text' },
  },
  // The first condition is the cheap one: lower() of the collation C changes ASCII only. The pattern excludes longer addresses.
  `select id, payload from events
   where account_id = :accountId and strpos(lower(payload collate "C"), lower(:part collate "C")) > 0
     and (strpos(payload, :naming) > 0 or payload ~* :pattern) order by id`,
)

/** Returns the account's events that contain a normalised address, oldest first. */
export const eventsNaming = (
  { sql, accountId }: AccountSql,
  email: string,
): Promise<{ id: string; payload: string }[]> =>
  sql(findEventsNaming, {
    accountId,
    naming: naming(email),
    part: isRecognisable(email) ? JSON.stringify(email).slice(1, -1) : naming(email),
    pattern: addressPattern(email),
  })

/** Returns the SQL join of the events `e` of the account of `row` whose ids have the same time as the id of `row`. */
export const joinEventsAt = (row: string) => `
  join events e on e.account_id = ${row}.account_id
    and e.id between 'evt_' || substr(${row}.id, 5, 10) and 'evt_' || substr(${row}.id, 5, 10) || 'zzzzzzzzzzzzzzzz'`

// Both use the primary key, because ids begin with a time: an event and its deliveries have the same time, deliveries of a caller
// a later one than the caller.
const ofEvents = (table: string) => `
  select d.* from unnest(:ids::text[]) as e(id) join ${table} d on d.account_id = :accountId and d.key = e.id
    and d.id between 'dlv_' || substr(e.id, 5, 10) and 'dlv_' || substr(e.id, 5, 10) || 'zzzzzzzzzzzzzzzz'`
const ofCallers = (table: string) => `
  select d.* from ${table} d where d.account_id = :accountId and d.body is not null and split_part(d.key, ':', 1) = any(:ids::text[])
    and d.id >= 'dlv_' || (select min(substr(id, 5, 10)) from unnest(:ids::text[]) as c(id))`

const idsOfAccount = { accountId: 'text', ids: '_text' } as const

/** A delivery in an export of personal data. Times are in epoch ms. */
const exported = {
  ...types(pendingDeliveries, 'id', 'type', 'attempts'),
  eventId: 'text',
  webhookId: 'text',
  status: 'text',
  body: 'json',
  createdAt: 'int8',
  finishedAt: 'int8?',
} as const

const exportDeliveries = (name: string, found: string) =>
  statement(
    name,
    { row: exported, parameters: idsOfAccount },
    `select id, key as "eventId", target_id as "webhookId", type, status, body::json as body, attempts,
       ${epochMs('created_at')} as "createdAt", ${epochMs('finished_at')} as "finishedAt"
     from (${found}) d order by id`,
  )

const exportOfEvents = exportDeliveries('export-deliveries-of-events', ofEvents('deliveries'))
const exportOfCallers = exportDeliveries('export-deliveries-of-callers', ofCallers('deliveries'))

/** Returns the deliveries of events, as `svc contacts export --email` shows them. */
export const deliveriesOfEvents = ({ sql, accountId }: AccountSql, ids: readonly string[]): Promise<object[]> =>
  sql(exportOfEvents, { accountId, ids })

/** Returns the deliveries of callers (their keys begin with the caller's id and a colon), in the same form. */
export const deliveriesOfCallers = ({ sql, accountId }: AccountSql, ids: readonly string[]): Promise<object[]> =>
  sql(exportOfCallers, { accountId, ids })

const blankAttempts = `(
  select coalesce(jsonb_agg(a.attempt || '{"snippet":""}' order by a.n), '[]')
  from jsonb_array_elements(d.attempts) with ordinality as a(attempt, n)
)`

/** Pending deliveries move to history first; `blank` blanks them there. */
const erasureOf = (kind: string, found: (table: string) => string) => ({
  cancel: statement(
    `cancel-erased-${kind}`,
    { row: { id: 'text', targetId: 'text', attempts: 'int4' }, parameters: idsOfAccount },
    `with ${cancelled(`select account_id, id from (${found('pending_deliveries')} order by d.id for update of d) d`)}
     select id, target_id as "targetId", jsonb_array_length(attempts) as attempts from gone`,
  ),
  blank: statement(
    `blank-deliveries-of-${kind}`,
    { parameters: idsOfAccount },
    `update ended_deliveries d set attempts = ${blankAttempts}, body = case when d.body is not null then '${erasedData}' end
     from (${found('ended_deliveries')}) f where d.account_id = f.account_id and d.id = f.id`,
  ),
})

const erasureOfEvents = erasureOf('events', ofEvents)
const erasureOfCalls = erasureOf('calls', ofCallers)

const erase = async (
  work: Work,
  { cancel, blank }: ReturnType<typeof erasureOf>,
  ids: readonly string[],
): Promise<void> => {
  const { sql, accountId } = work
  const rows = await sql(cancel, { accountId, ids })
  await sql(blank, { accountId, ids })
  const ended = { status: 'cancelled', lastStatus: null, lastError: 'The contact was erased' } as const
  await notifyEnded(
    work,
    rows.map(({ id, attempts }) => ({ id, attempts, ...ended })),
  )
  announceTargetsChanged(
    work,
    rows.map(({ targetId }) => targetId),
  )
}

const blankEvents = statement(
  'blank-events',
  { parameters: idsOfAccount },
  `update events set payload = left(payload, strpos(payload, ',"data":') - 1) || '${erasedEnd}'
   where account_id = :accountId and id = any(:ids)`,
)

/** Blanks events and the receivers' answers to them, and cancels their pending deliveries. */
export const eraseEvents = async (work: Work, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return
  await work.sql(blankEvents, { accountId: work.accountId, ids })
  await erase(work, erasureOfEvents, ids)
}

/** Blanks bodies of callers and the receivers' answers, cancels the pending deliveries, and notifies the callers. */
export const eraseCalls = async (work: Work, callerIds: readonly string[]): Promise<void> => {
  if (callerIds.length > 0) await erase(work, erasureOfCalls, callerIds)
}
