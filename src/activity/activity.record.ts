import { z } from 'zod'
import { located, locatingAddress } from '../contacts/contacts.rows.ts'
import { requireList, ticketFirst, verifyAddresses, writeContacts, writeFairly } from '../contacts/contacts.ts'
import { emailAddress } from '../lib/address.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { eventName } from '../lib/event-name.ts'
import { newId } from '../lib/ids.ts'
import { TriggerData } from '../lib/merge-data.ts'
import { conflict, notFound } from '../lib/problem.ts'
import { idText } from '../lib/text.ts'
import { isSharedFailure, SerializationConflict } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import type { AccountSql, App, Work } from '../store/work.ts'

/** The body of POST /events. */
export const ActivityReport = z
  .object({
    name: eventName().describe('What happened: 1 to 64 of `a-z 0-9 _ . -`, beginning with a letter'),
    email: emailAddress().describe('The address of the person'),
    listId: idText()
      .optional()
      .describe(
        'The list of the contact; an address that is not in it is added first. Default: the most recently updated list that has the address',
      ),
    data: TriggerData.optional().describe(
      'Merge data of the journeys that the event starts: at most 100 fields and 64 KB; nested values are dropped. Default: none',
    ),
  })
  .meta({ examples: [{ name: 'trial.started', email: 'ada.okafor@northwind.example', data: { plan: 'pro' } }] })
type ActivityReport = z.output<typeof ActivityReport>

/** The result of a call. */
export interface Recorded {
  id: string
  /** The number of journeys that the event started. */
  journeys: number
}

interface Call {
  report: ActivityReport
  /** 1 to 200 characters. A key records one event per account, without a time limit. */
  key: string | undefined
}

/** It is null if the contact does not exist. `isReplay` says that an earlier call had the same key. */
type Outcome = (Recorded & { isReplay: boolean }) | null

const readKeys = preparedStatement(
  'activities-of-keys',
  {
    row: { key: 'text', id: 'text', journeys: 'int4' },
    parameters: { accountId: 'text', repeated: '_text' },
  },
  `select k.key, k.activity_id as id, k.journeys from activity_keys k where k.account_id = :accountId and k.key = any(:repeated)`,
)

/** Returns the result of the first call with an idempotency key, or null if there was none. */
export const resultOfKey = async ({ sql, accountId }: AccountSql, key: string): Promise<Recorded | null> => {
  const [row] = await sql(readKeys, { accountId, repeated: [key] })
  return row ? { id: row.id, journeys: row.journeys } : null
}

// One statement finds the contacts and inserts the events, as for deals. A second call with the same idempotency key waits here until
// the first one commits or rolls back. Of two calls with one key in one statement, one inserts its event.
const recordActivities = preparedStatement(
  'record-activities',
  {
    row: { id: 'text', ...located, isNew: 'bool' },
    parameters: { accountId: 'text', asked: 'jsonb', now: 'timestamptz' },
  },
  `with asked as (
     select * from jsonb_to_recordset(:asked::jsonb) as a(id text, email text, "listId" text, name text, data jsonb, key text)
     order by a.email collate "C"
   ), located as materialized (
     select a.id, a.email, a.name, a.data, a.key, c."listId", c."rowId" from asked a
     cross join lateral (${locatingAddress({ account: ':accountId', email: 'a.email', list: 'a."listId"' })}) c
   ), claimed as (
     insert into activity_keys (account_id, key, activity_id, journeys)
     select :accountId, key, id, 0 from located where key is not null order by key collate "C"
     on conflict (account_id, key) do nothing returning activity_id
   ), inserted as (
     insert into activities (account_id, id, email, name, data, at)
     select :accountId, id, email, name, data, :now from located where key is null or id in (select activity_id from claimed)
     returning id
   )
   select l.id, l."listId", l."rowId", l.email, i.id is not null as "isNew" from located l left join inserted i on i.id = l.id`,
)

const keepCounts = preparedStatement(
  'count-journeys-of-activities',
  { parameters: { accountId: 'text', keys: '_text', counted: '_int4' } },
  `update activity_keys k set journeys = i.journeys from unnest(:keys::text[], :counted::int[]) as i(key, journeys)
   where k.account_id = :accountId and k.key = i.key`,
)

/** Records the events of different addresses, and starts their journeys. Returns an outcome for each call, in their order. */
const record = async (work: Work, calls: readonly Call[]): Promise<Outcome[]> => {
  const { sql, accountId, now } = work
  const asked = calls.map(({ report, key }) => ({ ...report, key, id: newId('act', now.getTime()) }))
  const rows = new Map(
    (await sql(recordActivities, { accountId, asked: JSON.stringify(asked), now })).map((row) => [row.id, row]),
  )
  const fresh = asked.filter(({ id }) => rows.get(id)?.isNew)
  const started = new Map(fresh.map(({ id }) => [id, 0]))
  if (fresh.length > 0) {
    const activities = fresh.map(({ id, name, data }) => {
      const { listId, rowId, email } = rows.get(id)!
      return { listId, rowId, email, name, data }
    })
    for (const listener of await work.listeners()) {
      const counts = await listener.activitiesRecorded?.(work, activities)
      counts?.forEach((count, i) => void started.set(fresh[i]!.id, started.get(fresh[i]!.id)! + count))
    }
  }
  const counted = fresh.filter(({ id, key }) => key !== undefined && started.get(id)! > 0)
  if (counted.length > 0) {
    await sql(keepCounts, {
      accountId,
      keys: counted.map(({ key }) => key!),
      counted: counted.map(({ id }) => started.get(id)!),
    })
  }
  const repeated = asked.flatMap(({ id, key }) => (key !== undefined && rows.get(id)?.isNew === false ? [key] : []))
  const known = new Map(
    (repeated.length > 0 ? await sql(readKeys, { accountId, repeated }) : []).map(({ key, ...first }) => [key, first]),
  )
  return asked.map(({ id, key }) => {
    const row = rows.get(id)
    if (!row) return null
    return row.isNew ? { id, journeys: started.get(id)!, isReplay: false } : { ...known.get(key!)!, isReplay: true }
  })
}

type Recorder = Pick<App, 'sql' | 'resolver' | 'now' | 'work' | 'database'>

interface Caller {
  app: Recorder
  accountId: string
  actor: string
}

const maxBatch = 64

/**
 * Coalesces the calls of one key, as for single writes of contacts (contacts/write/upsert.ts). Events of one address
 * stay in their order.
 */
const recordTogether = coalesceCalls(
  maxBatch,
  ({ app, accountId, actor }: Caller, calls: readonly Call[]): Promise<Outcome[]> =>
    app.work(accountId, actor, (work) => record(work, calls)),
  { isShared: isSharedFailure, subjectOf: ({ report }) => report.email },
)

/** Adds the address to the list, then records the event. */
const recordNew = async ({ app, accountId, actor }: Caller, call: Call, listId: string): Promise<Outcome> => {
  const { email } = call.report
  const verifications = await verifyAddresses(app, [email], {
    before: () => requireList({ sql: app.sql, accountId }, listId),
  })
  return writeFairly(app, accountId, actor, async (work) => {
    await ticketFirst(work)
    const first = call.key === undefined ? null : await resultOfKey(work, call.key)
    if (first) return { ...first, isReplay: true }
    const outcome = (await writeContacts(work, listId, [{ email, fields: {} }], verifications)).get(email)
    if (outcome === 'skipped') throw conflict("The plan's contact limit is reached")
    const [recorded] = await record(work, [call])
    // Another call with the key was faster, so this one must not add the address; or the contact was erased meanwhile.
    if (!recorded || recorded.isReplay) throw new SerializationConflict('The event was recorded meanwhile')
    return recorded
  })
}

/**
 * Records that a person did something (POST /events), and starts the journeys that it triggers. An address that is not in the list is
 * added to it first; without `listId`, the most recently updated list that has it applies. A repeated key returns the first
 * result and writes nothing. Throws Problem `not_found` for an unknown list, or an unknown address without `listId`; `conflict` if the
 * plan's contact limit is reached. Opens its own transactions: a new address is verified between them.
 */
export const recordActivity = async (
  app: Recorder,
  { accountId, actor }: Omit<Caller, 'app'>,
  report: ActivityReport,
  key: string | undefined,
): Promise<Recorded & { isReplay: boolean }> => {
  const caller = { app, accountId, actor }
  const known = await recordTogether(caller, app.database, JSON.stringify([accountId, actor]), { report, key })
  if (known) return known
  if (report.listId === undefined) throw notFound('There is no such contact')
  return (await recordNew(caller, { report, key }, report.listId))!
}
