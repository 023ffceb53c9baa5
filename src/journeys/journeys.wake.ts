import { type CallEnd, cancelCalls } from '../deliveries/deliveries.ts'
import type { EmittedEvent } from '../events/events.ts'
import type { TypeMap } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { matchesWhere } from './definition/awaited.ts'
import type { RunStatus } from './definition/definition.schema.ts'
import { exitRulesOf, type Subject } from './enrolment/triggers.ts'
import { journeyStateOf } from './journeys.cause.ts'
import { journeysChannel } from './journeys.channel.ts'
import { journeyRuns } from './journeys.columns.ts'

/*
 * How events, removals and ended deliveries end and wake runs. Every change increments the run's revision, so that a unit of work
 * that read the run before can't record. No statement here stays prepared: a plan made while there were few runs reads all runs
 * when there are many. Lock order: deliveries before runs, as the recording of a delivery's end does; runs in the order of their
 * ids.
 */

/** An event with the person it is about. All runs of that person have the row id. */
export interface PersonEvent {
  event: EmittedEvent
  subject: Subject & { rowId: string }
}

const open = `r.status in ('running', 'waiting')`
/** Returns the SQL assignments of the new values of a run that ends, without reason and time. */
export const endingAs = (status: RunStatus): string =>
  `status = '${status}', cursor = null, awaited = null, awaited_where = null, delivery_id = null, revision = r.revision + 1`
const ending = endingAs('exited')

/**
 * The SQL condition that a run is an open one of the persons in `:rowIds`. No index serves the condition for the account: the
 * other one has one.
 */
const ofPersons = `r.account_id || '' = :accountId and r.row_id = any(:rowIds) and ${open}`

/** The SQL query of the exit rules in `:rules` that the version of `journey_runs r` has. */
const metRules = `
  select x.rule from journey_exits x where x.account_id = r.account_id and x.rule = any(:rules)
    and x.journey_id = r.journey_id and x.version = r.version`

/** Declares a statement that reads which deliveries open runs wait for. `condition` is SQL over `journey_runs r`. */
const readWaits = <const Parameters extends TypeMap>(name: string, parameters: Parameters, condition: string) =>
  statement(
    name,
    { row: { id: 'text' }, parameters },
    `select r.delivery_id as id from journey_runs r where ${condition} and r.delivery_id || '' <> '' order by r.delivery_id`,
  )

const cancelWaits = (work: Work, waits: readonly { id: string }[]) =>
  cancelCalls(
    work,
    waits.map(({ id }) => id),
  )

/** Which runs to end. Properties that are set are combined: a list, persons, and an exit rule that the version must have. */
interface RunFilter {
  listId?: string | null | undefined
  rowIds?: readonly string[] | null | undefined
  rule?: string
}

const filter = { accountId: 'text', rowIds: '_text?', listId: 'text?', rules: '_text?' } as const

/** The statements that end the runs of `whose`, a condition over `journey_runs r`, and read their deliveries. */
const statementsThatEnd = (name: string, whose: string) => {
  const condition = `${whose} and (:listId::text is null or r.list_id = :listId) and (:rules::text[] is null or exists (${metRules}))`
  return {
    waits: readWaits(`waits-of-${name}`, filter, condition),
    end: statement(
      `end-runs-of-${name}`,
      { row: { id: 'text' }, parameters: { ...filter, reason: 'text', now: 'timestamptz' } },
      `with leaving as (
         select r.id from journey_runs r where ${condition} order by r.id for no key update
       )
       update journey_runs r set ${ending}, reason = :reason, ended_at = :now
       from leaving where r.account_id = :accountId and r.id = leaving.id returning r.id`,
    ),
  }
}

const endOfAll = statementsThatEnd('all', `r.account_id = :accountId and ${open} and :rowIds::text[] is null`)
const endOfPersons = statementsThatEnd('persons', ofPersons)

/** Ends the open runs that match, and cancels their deliveries. Returns the ids of the runs. */
export const endRuns = async (
  work: Work,
  reason: string,
  { listId = null, rowIds = null, rule }: RunFilter,
): Promise<string[]> => {
  const { sql, accountId, now } = work
  const { waits, end } = rowIds === null ? endOfAll : endOfPersons
  const which = { accountId, rowIds, listId, rules: rule === undefined ? null : [rule] }
  await cancelWaits(work, await sql(waits, which))
  const rows = await sql(end, { ...which, reason, now })
  for (const { id } of rows) journeyStateOf(work).ended.add(id)
  return rows.map(({ id }) => id)
}

// A unit of work in which runs act locks all runs of these persons and of its own runs' persons at once, and none later. At a
// webhook step that is not completed (`delivery`), the event of the next step is accepted until the delivery ends.
const lockConcerned = statement(
  'lock-concerned-runs',
  {
    row: {
      ...types(journeyRuns, 'id', 'rowId'),
      where: journeyRuns.columns.awaitedWhere,
      /** Whether the run waits for an event of this type, and its timeout is not over. */
      isListening: 'bool',
      exits: '_text',
    },
    parameters: {
      accountId: 'text',
      rowIds: '_text',
      type: 'text',
      rules: '_text',
      now: 'timestamptz',
      isActing: 'bool',
    },
  },
  `select r.id, r.row_id as "rowId", r.awaited_where as "where",
     coalesce(r.awaited = :type, false) and (r.due_at > :now or r.delivery_id is not null or r.context ? 'delivery') as "isListening",
     array(${metRules}) as exits
   from journey_runs r
   where ${ofPersons} and (:isActing or r.awaited = :type or exists (${metRules}))
   order by r.id for no key update of r`,
)

const lockRuns = async (work: Work, type: string, rowIds: readonly string[], rules: readonly string[]) => {
  const { actors, completing, ended } = journeyStateOf(work)
  const { sql, accountId, now } = work
  const persons = [...new Set([...rowIds, ...actors.map(({ rowId }) => rowId)])]
  const isActing = actors.length > 0
  const rows = await sql(lockConcerned, { accountId, rowIds: persons, type, rules, now, isActing })
  return rows.filter(({ id }) => !completing.has(id) && !ended.has(id))
}

const exitRuns = statement(
  'exit-runs',
  { parameters: { accountId: 'text', ids: '_text', reason: 'text', now: 'timestamptz' } },
  `update journey_runs r set ${ending}, reason = :reason, ended_at = :now where r.account_id = :accountId and r.id = any(:ids)`,
)

const exit = async ({ sql, accountId, now }: Work, reason: string, ids: readonly string[]): Promise<void> => {
  await sql(exitRuns, { accountId, ids, reason, now })
}

// Clears `awaited`: that is how the step distinguishes the event from its timeout.
const wakeRuns = statement(
  'wake-runs',
  { parameters: { accountId: 'text', ids: '_text', now: 'timestamptz' } },
  `update journey_runs set awaited = null, awaited_where = null, revision = revision + 1,
     due_at = case when delivery_id is null and not context ? 'delivery' then :now else due_at end
   where account_id = :accountId and id = any(:ids)`,
)

const readWaitsOfExits = readWaits(
  'waits-of-exits',
  { accountId: 'text', rowIds: '_text', rules: '_text' },
  `${ofPersons} and exists (${metRules})`,
)

/**
 * Ends the runs whose exit rules the events meet, and wakes the runs that wait for one of the events and have not timed out.
 * `wants` says whether any version of the account may have such a rule, and whether any run may wait for the type.
 */
export const notifyRuns = async (
  work: Work,
  type: string,
  personEvents: readonly PersonEvent[],
  wants: { exit: boolean; wake: boolean },
): Promise<void> => {
  if (!wants.exit && !wants.wake) return
  const rules = wants.exit ? [...new Set(personEvents.flatMap(({ event }) => exitRulesOf(event)))] : []
  const rowIds = [...new Set(personEvents.map(({ subject }) => subject.rowId))]
  if (wants.exit)
    await cancelWaits(work, await work.sql(readWaitsOfExits, { accountId: work.accountId, rowIds, rules }))
  const locked = await lockRuns(work, type, rowIds, rules)
  const byPerson = Map.groupBy(personEvents, ({ subject }) => subject.rowId)
  const leaving: { id: string; reason: string }[] = []
  const woken: string[] = []
  for (const { id, rowId, isListening, where, exits } of locked) {
    const received = byPerson.get(rowId) ?? []
    const met = received.flatMap(({ event }) => exitRulesOf(event)).find((rule) => exits.includes(rule))
    if (met) leaving.push({ id, reason: `exit rule: ${met}` })
    else if (isListening && received.some(({ event }) => matchesWhere(event, where))) woken.push(id)
  }
  for (const [reason, own] of Map.groupBy(leaving, (run) => run.reason)) {
    const ids = own.map(({ id }) => id)
    await exit(work, reason, ids)
    for (const id of ids) journeyStateOf(work).ended.add(id)
  }
  if (woken.length === 0) return
  await work.sql(wakeRuns, { accountId: work.accountId, ids: woken, now: work.now })
  work.announce(journeysChannel, '', { ownFirst: true })
}

const settleRuns = statement(
  'settle-calls',
  { row: { woken: 'int8' }, parameters: { accountId: 'text', rows: 'jsonb', now: 'timestamptz' } },
  `with ended as (
     select e.id, e.delivery from jsonb_to_recordset(:rows::jsonb) as e(id text, delivery jsonb)
   ), waiting as materialized (
     select r.id, ended.delivery from ended cross join lateral (
       select id from journey_runs where account_id || '' = :accountId and delivery_id = ended.id limit 1
     ) r
   ), locked as materialized (
     select id from journey_runs where account_id = :accountId and id = any(array(select id from waiting)) order by id
     for no key update
   ), woken as (
     update journey_runs r set delivery_id = null, due_at = :now, revision = r.revision + 1,
       context = r.context || jsonb_build_object('delivery', waiting.delivery)
     from locked join waiting on waiting.id = locked.id
     where r.account_id = :accountId and r.id = locked.id and r.delivery_id = waiting.delivery ->> 'id' returning 1
   )
   select count(*) as woken from woken`,
)

/** Wakes the runs that wait for ended deliveries. */
export const settleCalls = async (work: Work, ended: readonly CallEnd[]): Promise<void> => {
  const rows = ended.map((delivery) => ({ id: delivery.id, delivery }))
  const [settled] = await work.sql(settleRuns, { accountId: work.accountId, rows: JSON.stringify(rows), now: work.now })
  if (settled!.woken > 0) work.announce(journeysChannel, '', { ownFirst: true })
}
