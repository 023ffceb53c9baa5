import { createHash } from 'node:crypto'
import { newId } from '../lib/ids.ts'
import { textArray } from '../store/arrays.ts'
import { SerializationConflict } from '../store/database.ts'
import type { EmittedEvent, Work } from '../store/work.ts'

/*
 * The rule of the outbox: what leaves is written in the transaction of the change that causes it, and a delivery to what is
 * no active target counts as cancelled, whenever it is committed. So who writes deliveries and who ends a target wait for
 * each other nowhere: what was written meanwhile is not claimed, and moved to where it belongs (deliveries.end.ts).
 *
 * The deliveries of one statement are due a microsecond after one another: so the due time alone tells where a claim
 * stopped, and they leave in the order in which they were made.
 */

/** The jobs that deliver listen on this channel; what they are told is in delivery.notice.ts. */
export const deliveriesChannel = 'svc_deliveries'

/** A POST of an own body that somebody waits for: unsigned, `key` as its X-Service-Idempotency-Key. */
export interface Call {
  url: string
  key: string
  body: string
}

/** Who calls: the listeners hear `deliveriesEnded` of it. */
export interface Caller {
  kind: 'journey'
  id: string
}

/** How many ids fit in one notice: PostgreSQL allows 8,000 bytes. */
const idsPerNotice = 200

/** Ids as notices carry them, as many as fit in each. */
export const noticesOf = (ids: readonly string[]): string[] =>
  Array.from({ length: Math.ceil(ids.length / idsPerNotice) }, (_, i) =>
    ids.slice(i * idsPerNotice, (i + 1) * idsPerNotice).join(' '),
  )

// The clock is read once. An event may go to the targets of several listeners: it is kept once.
// `told` names the targets, and from when on there is something for them.
const inserting = `
  with clock as materialized (
    select svc_now() as now
  ), delivery as (
    insert into pending_deliveries (account_id, id, target_id, key, type, body, bytes, due_at, created_at)
    select $1, d.id, d.target, d.key, d.type, d.body, d.bytes, clock.now + (d.n - 1) * interval '1 microsecond', $2
    from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int[])
      with ordinality as d(id, target, key, type, body, bytes, n), clock
  ), stored as (
    insert into events (account_id, id, type, payload, created_at)
    select $1, e.id, e.type, e.payload, $2
    from unnest($9::text[], $10::text[], string_to_array($11, E'\\n')) as e(id, type, payload)
    on conflict (account_id, id) do nothing
  )
  select pg_notify('${deliveriesChannel}', '+' || (extract(epoch from clock.now) * 1e6)::int8 || ' ' || $1 || ' ' || t.ids)
  from clock, unnest($12::text[]) as t(ids)`

interface NewDelivery {
  id: string
  target: string
  key: string
  type: string
  body: string | null
  bytes: number
}

const insert = async (
  { sql, accountId, now }: Work,
  rows: readonly NewDelivery[],
  events: readonly { id: string; type: string; payload: string }[],
): Promise<void> => {
  const notices = noticesOf([...new Set(rows.map(({ target }) => target))])
  await sql(
    inserting,
    [
      accountId,
      now,
      textArray(rows.map(({ id }) => id)),
      textArray(rows.map(({ target }) => target)),
      textArray(rows.map(({ key }) => key)),
      textArray(rows.map(({ type }) => type)),
      textArray(rows.map(({ body }) => body)),
      rows.map(({ bytes }) => bytes),
      textArray(events.map(({ id }) => id)),
      textArray(events.map(({ type }) => type)),
      // JSON has no line breaks.
      events.map(({ payload }) => payload).join('\n'),
      notices,
    ],
    'insert-deliveries',
  )
}

/** An active target, and the types of events that it wants. */
export interface Wanting {
  id: string
  events: readonly string[]
}

/**
 * Writes events, each with the final text of its body, and a delivery to each target that wants its type; an event that
 * none wants is not kept. Gives the ids of the deliveries, event by event.
 */
export const insertEvents = async (
  work: Work,
  events: readonly EmittedEvent[],
  targets: readonly Wanting[],
): Promise<string[]> => {
  const nowMs = work.now.getTime()
  const rows: NewDelivery[] = []
  const stored: { id: string; type: string; payload: string }[] = []
  for (const event of events) {
    const { id: key, type } = event
    const wanting = targets.filter(({ events: types }) => types.includes(type))
    if (wanting.length === 0) continue
    const payload = JSON.stringify(event)
    const bytes = Buffer.byteLength(payload)
    stored.push({ id: key, type, payload })
    for (const { id: target } of wanting) rows.push({ id: newId('dlv', nowMs), target, key, type, body: null, bytes })
  }
  if (rows.length > 0) await insert(work, rows, stored)
  return rows.map(({ id }) => id)
}

/** One target for a caller and URL, whoever comes first: its id is made of them. */
const targetIdOf = (accountId: string, { kind, id }: Caller, url: string): string =>
  `tgt_${createHash('sha256')
    .update(JSON.stringify([accountId, kind, id, url]))
    .digest('hex')
    .slice(0, 26)}`

/** What a call shows as its type. */
const callTypes = { journey: 'journey.webhook' } satisfies Record<Caller['kind'], string>

// Holds targets against the purge, and makes those that are missing: a row for each. One that the purge deletes after it was
// found here is not among the rows: the next try makes it again.
const holdTries = 5
const holdTargets = `
  with made as (
    insert into delivery_targets (id, account_id, kind, owner_id, url, status, created_at)
    select id, $1, $2, $3, url, 'active', $4 from unnest($5::text[], $6::text[]) as t(url, id)
    on conflict (id) do nothing returning id
  ), held as (
    select id from delivery_targets
    where account_id = $1 and id = any($6) and id not in (select id from made) order by id for key share
  )
  select id from made union all select id from held`

/**
 * Inserts a delivery for each call, to the caller's target for that URL, which is made where it is missing. Gives their ids
 * in the order of the calls; their ends are told to `Listener.deliveriesEnded`.
 */
export const insertCalls = async (work: Work, caller: Caller, calls: readonly Call[]): Promise<string[]> => {
  if (calls.length === 0) return []
  const { sql, accountId, now } = work
  const targets = new Map(calls.map(({ url }) => [url, targetIdOf(accountId, caller, url)]))
  // In the order of the ids, as wherever several targets are written.
  const made = [...targets].sort(([, a], [, b]) => (a < b ? -1 : 1))
  const params = [accountId, caller.kind, caller.id, now, made.map(([url]) => url), made.map(([, id]) => id)]
  for (let tries = 1; (await sql(holdTargets, params, 'hold-call-targets')).length < made.length; tries++) {
    if (tries === holdTries) throw new SerializationConflict('Targets of calls were purged again and again')
  }
  const rows = calls.map(({ url, key, body }) => ({
    id: newId('dlv', now.getTime()),
    target: targets.get(url)!,
    key,
    type: callTypes[caller.kind],
    body,
    bytes: Buffer.byteLength(body),
  }))
  await insert(work, rows, [])
  return rows.map(({ id }) => id)
}
