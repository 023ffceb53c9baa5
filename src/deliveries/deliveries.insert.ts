import { hash } from 'node:crypto'
import type { EmittedEvent } from '../events/events.ts'
import { newId } from '../lib/ids.ts'
import { typed } from '../store/column-types.ts'
import { SerializationConflict } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { deliveryTargets } from './deliveries.columns.ts'
import { deliveriesChannel, noticesOf } from './deliveries.notices.ts'

/*
 * The rule of the outbox: a delivery is written in the transaction of the change that causes it, and a delivery to an inactive
 * target counts as cancelled, whenever it is committed. So a transaction that inserts deliveries and one that ends a target never
 * wait for each other: deliveries inserted meanwhile are not claimed, and are moved to history later (targets/end.ts).
 *
 * The deliveries of one statement are due one microsecond after another. So the due time is enough to know where a claim stopped,
 * and they are posted in the order in which they were created.
 */

/** A POST of the caller's own body, for whose end the caller waits: unsigned, with `key` as its X-Service-Idempotency-Key. */
interface Call {
  url: string
  key: string
  body: string
}

/** The caller, which is notified by `Listener.deliveriesEnded`. */
interface Caller {
  kind: 'journey'
  id: string
}

/**
 * Inserts deliveries and the events that they deliver, whose payloads are the lines of one text. Reads the clock once. An event may go to the targets of several listeners:
 * it is stored once. Returns the due time of the first delivery, in microseconds since the epoch.
 */
const insertDeliveries = preparedStatement(
  'insert-deliveries',
  {
    row: { since: 'int8' },
    parameters: {
      accountId: 'text',
      now: 'timestamptz',
      ids: '_text',
      targets: '_text',
      keys: '_text',
      types: '_text',
      bodies: typed<(string | null)[]>('_text'),
      bytes: '_int4',
      eventIds: '_text',
      eventTypes: '_text',
      payloads: 'text',
    },
  },
  `with clock as materialized (
     select svc_now() as now
   ), delivery as (
     insert into pending_deliveries (account_id, id, target_id, key, type, body, bytes, due_at, created_at)
     select :accountId, d.id, d.target, d.key, d.type, d.body, d.bytes, clock.now + (d.n - 1) * interval '1 microsecond', :now
     from unnest(:ids::text[], :targets::text[], :keys::text[], :types::text[], :bodies::text[], :bytes::int[])
       with ordinality as d(id, target, key, type, body, bytes, n), clock
   ), stored as (
     insert into events (account_id, id, type, payload, created_at)
     select :accountId, e.id, e.type, e.payload, :now
     from unnest(:eventIds::text[], :eventTypes::text[], string_to_array(:payloads, E'\\n')) as e(id, type, payload)
     on conflict (account_id, id) do nothing
   )
   select (extract(epoch from now) * 1e6)::int8 as since from clock`,
)

interface NewDelivery {
  id: string
  target: string
  key: string
  type: string
  body: string | null
  bytes: number
}

const insert = async (
  { sql, accountId, now, announce }: Work,
  rows: readonly NewDelivery[],
  events: readonly { id: string; type: string; payload: string }[],
): Promise<void> => {
  const [inserted] = await sql(insertDeliveries, {
    accountId,
    now,
    ids: rows.map(({ id }) => id),
    targets: rows.map(({ target }) => target),
    keys: rows.map(({ key }) => key),
    types: rows.map(({ type }) => type),
    bodies: rows.map(({ body }) => body),
    bytes: rows.map(({ bytes }) => bytes),
    eventIds: events.map(({ id }) => id),
    eventTypes: events.map(({ type }) => type),
    // JSON has no line breaks.
    payloads: events.map(({ payload }) => payload).join('\n'),
  })
  for (const ids of noticesOf(rows.map(({ target }) => target))) {
    announce(deliveriesChannel, `+${inserted!.since} ${accountId} ${ids}`, { ownFirst: true })
  }
}

/**
 * Inserts events, each with the final text of its body, and a delivery of each to every target. Without targets it stores nothing.
 * Returns the ids of the deliveries, event by event.
 */
export const insertEvents = async (
  work: Work,
  events: readonly EmittedEvent[],
  targets: readonly string[],
): Promise<string[]> => {
  if (targets.length === 0) return []
  const nowMs = work.now.getTime()
  const rows: NewDelivery[] = []
  const stored: { id: string; type: string; payload: string }[] = []
  for (const event of events) {
    const { id: key, type } = event
    const payload = JSON.stringify(event)
    const bytes = Buffer.byteLength(payload)
    stored.push({ id: key, type, payload })
    for (const target of targets) rows.push({ id: newId('dlv', nowMs), target, key, type, body: null, bytes })
  }
  if (rows.length > 0) await insert(work, rows, stored)
  return rows.map(({ id }) => id)
}

/** The `type` of a probe: a delivery that a command sends to itself. Lists and statistics leave it out. */
export const probeType = 'svc.probe'

/** Inserts a probe: a delivery of the event to one target. Returns its id. */
export const insertProbe = async (work: Work, target: string, event: EmittedEvent): Promise<string> => {
  const id = newId('dlv', work.now.getTime())
  const body = JSON.stringify(event)
  await insert(work, [{ id, target, key: event.id, type: probeType, body, bytes: Buffer.byteLength(body) }], [])
  return id
}

/** Returns the id of the one target of a caller and URL, a hash of both: concurrent transactions compute the same id. */
const targetIdOf = (accountId: string, { kind, id }: Caller, url: string): string =>
  `tgt_${hash('sha256', JSON.stringify([accountId, kind, id, url])).slice(0, 26)}`

/** The `type` of a caller's deliveries. */
const callTypes = { journey: 'journey.webhook' } satisfies Record<Caller['kind'], string>

/**
 * Inserts missing targets, and locks the others so that the purge can't delete them; returns a row for each. A target that the
 * purge deletes during the statement is not among the rows: the next try inserts it again.
 */
const lockCallTargets = preparedStatement(
  'lock-call-targets',
  {
    row: { id: 'text' },
    parameters: {
      ...types(deliveryTargets, 'accountId', 'kind'),
      ownerId: 'text',
      now: 'timestamptz',
      urls: '_text',
      ids: '_text',
    },
  },
  `with inserted as (
     insert into delivery_targets (id, account_id, kind, owner_id, url, status, created_at)
     select id, :accountId, :kind, :ownerId, url, 'active', :now from unnest(:urls::text[], :ids::text[]) as t(url, id)
     on conflict (id) do nothing
     returning id
   ), locked as (
     select id
     from delivery_targets
     where account_id = :accountId and id = any(:ids) and id not in (select id from inserted)
     order by id
     for key share
   )
   select id from inserted
   union all
   select id from locked`,
)
const lockTries = 5

/**
 * Inserts a delivery for each call, to the caller's target for that URL, which is created if missing. Returns their ids in the
 * order of the calls; `Listener.deliveriesEnded` is notified of their ends.
 */
export const insertCalls = async (work: Work, caller: Caller, calls: readonly Call[]): Promise<string[]> => {
  if (calls.length === 0) return []
  const { sql, accountId, now } = work
  const targets = new Map(calls.map(({ url }) => [url, targetIdOf(accountId, caller, url)]))
  // In the order of the ids, as in every statement that writes several targets.
  const sorted = [...targets].sort(([, a], [, b]) => (a < b ? -1 : 1))
  const wanted = {
    accountId,
    kind: caller.kind,
    ownerId: caller.id,
    now,
    urls: sorted.map(([url]) => url),
    ids: sorted.map(([, id]) => id),
  }
  for (let tries = 1; (await sql(lockCallTargets, wanted)).length < sorted.length; tries++) {
    if (tries === lockTries) throw new SerializationConflict('Targets of calls were purged repeatedly')
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
