import { type CallEnd, cancelCalls } from '../deliveries/deliveries.ts'
import type { EmittedEvent } from '../events/events.ts'
import { type Statement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { type AwaitedWhere, matchesWhere, type RunStatus } from './definition/definition.ts'
import { exitRulesOf, type Subject } from './enrolment/enrolment.ts'
import { journeyStateOf } from './journeys.cause.ts'
import { journeysChannel } from './journeys.channel.ts'

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
/** SQL: the new values of a run that ends, without reason and time. */
export const endingAs = (status: RunStatus): string =>
  `status = '${status}', cursor = null, awaited = null, awaited_where = null, delivery_id = null, revision = r.revision + 1`
const ending = endingAs('exited')

/** A condition for the account that no index serves: the plan uses the index of another condition. */
const own = `r.account_id || '' = $1`
/** The account's open runs of some persons, found by the persons' row ids. */
const ofPersons = (rowIds: string) => `${own} and r.row_id = any(${rowIds}) and ${open}`

/** SQL: whether the version of `journey_runs r` has one of the exit rules in a parameter. */
const hasRule = (rules: string): string => `exists (
  select from journey_exits x where x.account_id = r.account_id and x.rule = any(${rules})
    and x.journey_id = r.journey_id and x.version = r.version)`

/** A statement that reads which deliveries open runs wait for. `condition` is SQL over `journey_runs r`. */
const readingWaits = (name: string, condition: string) =>
  statement<{ id: string }>(
    name,
    { id: 'text' },
    `select r.delivery_id as id from journey_runs r where ${condition} and r.delivery_id || '' <> '' order by r.delivery_id`,
  )

/** Cancels the deliveries that `waits` finds. Its first parameter is the account. */
const cancelWaits = async (work: Work, waits: Statement<{ id: string }>, params: readonly unknown[]): Promise<void> => {
  const rows = await work.sql(waits, [work.accountId, ...params])
  if (rows.length > 0) {
    await cancelCalls(
      work,
      rows.map(({ id }) => id),
    )
  }
}

/** Which runs to end. Properties that are set are combined: a list, persons, and an exit rule that the version must have. */
interface RunFilter {
  listId?: string | undefined
  rowIds?: readonly string[] | undefined
  rule?: string
}

/** The statements that end the runs of `whose`, a condition over `journey_runs r`, and read their deliveries. */
const endingRuns = (name: string, whose: string) => {
  const condition = `${whose} and ($3::text is null or r.list_id = $3) and ($4::text[] is null or ${hasRule('$4')})`
  return {
    waits: readingWaits(`waits-of-${name}`, condition),
    end: statement<{ id: string }>(
      `end-runs-of-${name}`,
      { id: 'text' },
      `with leaving as (
         select r.id from journey_runs r where ${condition} order by r.id for no key update
       )
       update journey_runs r set ${ending}, reason = $5, ended_at = $6
       from leaving where r.account_id = $1 and r.id = leaving.id returning r.id`,
    ),
  }
}

const endingOfAll = endingRuns('all', `r.account_id = $1 and ${open} and $2::text[] is null`)
const endingOfPersons = endingRuns('persons', ofPersons('$2'))

/** Ends the open runs that match, and cancels their deliveries. Returns the ids of the runs. */
export const endRuns = async (work: Work, reason: string, { listId, rowIds, rule }: RunFilter): Promise<string[]> => {
  const { waits, end } = rowIds === undefined ? endingOfAll : endingOfPersons
  const params = [rowIds ?? null, listId ?? null, rule === undefined ? null : [rule]]
  await cancelWaits(work, waits, params)
  const rows = await work.sql(end, [work.accountId, ...params, reason, work.now])
  for (const { id } of rows) journeyStateOf(work).ended.add(id)
  return rows.map(({ id }) => id)
}

interface Locked {
  id: string
  rowId: string
  /** The run waits for an event of this type, and its timeout is not over. */
  isListening: boolean
  where: AwaitedWhere | null
  exits: string[]
}

// A unit of work in which runs act locks all runs of these persons and of its own runs' persons at once, and none later. At a
// webhook step that is not completed (`delivery`), the event of the next step is accepted until the delivery ends.
const locking = statement<Locked>(
  'lock-runs',
  { id: 'text', rowId: 'text', where: 'jsonb', isListening: 'bool', exits: '_text' },
  `select r.id, r.row_id as "rowId", r.awaited_where as "where",
     coalesce(r.awaited = $3, false) and (r.due_at > $5 or r.delivery_id is not null or r.context ? 'delivery') as "isListening",
     array(
       select x.rule from journey_exits x where x.account_id = r.account_id and x.rule = any($4)
         and x.journey_id = r.journey_id and x.version = r.version
     ) as exits
   from journey_runs r
   where ${ofPersons('$2')} and ($6 or r.awaited = $3 or ${hasRule('$4')})
   order by r.id for no key update of r`,
)

const lockRuns = async (work: Work, type: string, rowIds: readonly string[], rules: readonly string[]) => {
  const { actors, completing, ended } = journeyStateOf(work)
  const persons = [...new Set([...rowIds, ...actors.map(({ rowId }) => rowId)])]
  const params = [work.accountId, persons, type, rules, work.now, actors.length > 0]
  const rows = await work.sql(locking, params)
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

const exitingWaits = readingWaits('waits-of-exits', `${ofPersons('$2')} and ${hasRule('$3')}`)

/**
 * Ends the runs whose exit rules the events meet, and wakes the runs that wait for one of the events and have not timed out.
 * `wants`: whether any version of the account may have such a rule, and whether any run may wait for the type.
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
  if (wants.exit) await cancelWaits(work, exitingWaits, [rowIds, rules])
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
