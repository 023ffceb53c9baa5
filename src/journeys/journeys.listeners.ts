import { type EventType, eventTypes } from '../events/types.ts'
import { normalizeEmail } from '../lib/email.ts'
import type { EmittedEvent, Listener, Work } from '../store/work.ts'
import { type Entrant, enabledJourneys, enterJourney, notifyJourneys } from './journeys.enrol.ts'
import { contextOf, exitRulesOf, holds, isPulled, type Subject, subjectOf, triggersOf } from './journeys.triggers.ts'
import { endedIn } from './run.cause.ts'

/*
 * What an event does to journeys, in its own transaction, in this order: it ends the runs whose exit rules it meets, wakes
 * those that wait for it, and starts new ones, which it therefore neither ends nor wakes. Runs are locked after all else,
 * in the order of their ids.
 */

interface Interests {
  triggers: string[]
  awaited: string[]
  exits: string[]
}

const interests = new WeakMap<Work, Promise<Interests>>()

const readInterests = async ({ sql, accountId }: Work): Promise<Interests> => {
  const [row] = await sql<Interests>(
    `select array(select distinct trigger_kind from journeys where account_id = $1 and enabled) as triggers,
       array(select type from unnest($2::text[]) type
         where exists (select from journey_runs where account_id = $1 and awaited = type)) as awaited,
       array(select distinct jsonb_array_elements_text(definition -> 'exitOn') from journey_versions
         where account_id = $1) as exits`,
    [accountId, eventTypes],
    'journey-interests',
  )
  return row!
}

const interestsIn = (work: Work): Promise<Interests> => {
  const read = interests.get(work) ?? readInterests(work)
  interests.set(work, read)
  return read
}

const isExit = (exits: readonly string[], type: string): boolean =>
  exits.includes(type) || (/^deal\./.test(type) && exits.some((rule) => rule === 'deal-won' || rule === 'deal-lost'))

/** An event with the person it is about, by the row id that all runs of that person carry. */
interface Happening {
  event: EmittedEvent
  subject: Subject & { rowId: string }
}

const readRowIds = async ({ sql, accountId }: Work, emails: readonly string[]): Promise<Map<string, string>> => {
  if (emails.length === 0) return new Map()
  const rows = await sql<{ email: string; rowId: string }>(
    'select email, row_id as "rowId" from addresses where account_id = $1 and email = any($2)',
    [accountId, emails],
    'row-ids',
  )
  return new Map(rows.map((row) => [row.email, row.rowId]))
}

const happeningsOf = async (work: Work, events: readonly EmittedEvent[]): Promise<Happening[]> => {
  const subjects = events.map(subjectOf)
  const unknown = subjects.flatMap((subject) => (subject && !subject.rowId ? [normalizeEmail(subject.email)] : []))
  const rowIds = await readRowIds(work, unknown)
  return events.flatMap((event, i) => {
    const subject = subjects[i]
    const email = normalizeEmail(subject?.email ?? '')
    const rowId = subject?.rowId ?? rowIds.get(email)
    return subject && rowId ? [{ event, subject: { ...subject, email, rowId } }] : []
  })
}

/** How a run ends before its journey's end. An attempt under way can no longer record its step. */
const ending = `status = 'exited', cursor = null, awaited = null, awaited_where = null, claim = r.claim + 1, leased_until = null`

const exit = async (work: Work, happenings: readonly Happening[]): Promise<void> => {
  const byRule = Map.groupBy(
    happenings.flatMap(({ event, subject }) => exitRulesOf(event).map((rule) => ({ rule, rowId: subject.rowId }))),
    ({ rule }) => rule,
  )
  for (const [rule, met] of byRule) {
    const rows = await work.sql<{ id: string }>(
      `with leaving as (
         select r.id from journey_runs r
         join journey_versions v on v.account_id = r.account_id and v.journey_id = r.journey_id and v.version = r.version
         where r.account_id = $1 and r.row_id = any($2) and r.status in ('running', 'waiting') and v.definition -> 'exitOn' ? $3
         order by r.id for update of r
       )
       update journey_runs r set ${ending}, reason = 'exit rule: ' || $3, ended_at = $4
       from leaving where r.account_id = $1 and r.id = leaving.id returning r.id`,
      [work.accountId, met.map(({ rowId }) => rowId), rule, work.now],
      'exit-runs',
    )
    for (const { id } of rows) endedIn(work).add(id)
  }
}

interface Waiting {
  id: string
  rowId: string
  where: Record<string, unknown> | null
}

const wake = async (work: Work, type: string, happenings: readonly Happening[]): Promise<void> => {
  const { sql, accountId, now } = work
  const waiting = await sql<Waiting>(
    `select id, row_id as "rowId", awaited_where as "where" from journey_runs
     where account_id = $1 and awaited = $2 and row_id = any($3) order by id for update`,
    [accountId, type, happenings.map(({ subject }) => subject.rowId)],
    'waiting-runs',
  )
  const woken = waiting.filter(({ rowId, where }) =>
    happenings.some(({ event, subject }) => subject.rowId === rowId && holds(event, where)),
  )
  if (woken.length === 0) return
  // Due, and waiting for nothing any more: that is how the step tells the event from its timeout.
  await sql(
    `with woken as (
       update journey_runs set awaited = null, awaited_where = null, due_at = $3, claim = claim + 1, leased_until = null
       where account_id = $1 and id = any($2) returning 1
     )
     select ${notifyJourneys} from woken limit 1`,
    [accountId, woken.map(({ id }) => id), now],
    'wake-runs',
  )
}

/** The contact of each event: the one it names, else the address in its most recently updated list. */
const entrantsOf = async (work: Work, happenings: readonly Happening[]): Promise<Entrant[]> => {
  const homeless = happenings.flatMap(({ subject }) => (subject.listId ? [] : [subject.email]))
  const homes = new Map<string, string>()
  if (homeless.length > 0) {
    const rows = await work.sql<{ email: string; listId: string }>(
      `select distinct on (email) email, list_id as "listId" from contacts where account_id = $1 and email = any($2)
       order by email, updated_at desc, list_id`,
      [work.accountId, homeless],
    )
    for (const { email, listId } of rows) homes.set(email, listId)
  }
  return happenings.flatMap(({ event, subject: { email, rowId, listId = homes.get(email) } }) =>
    listId ? [{ email, rowId, listId, context: contextOf(event) }] : [],
  )
}

const start = async (work: Work, type: EventType, happenings: readonly Happening[]): Promise<void> => {
  for (const journey of await enabledJourneys(work, [triggersOf[type]!])) {
    const pulling = happenings.filter(({ event }) => isPulled(journey.definition.trigger, event))
    if (pulling.length > 0) await enterJourney(work, journey, await entrantsOf(work, pulling))
  }
}

/** The exit rule `list-removed`, for who left a list, or with `email` alone every list. */
const exitRemoved = async (work: Work, listId: string | null, email: string | null): Promise<void> => {
  const { exits } = await interestsIn(work)
  if (!exits.includes('list-removed')) return
  const rows = await work.sql<{ id: string }>(
    `with leaving as (
       select r.id from journey_runs r
       join journey_versions v on v.account_id = r.account_id and v.journey_id = r.journey_id and v.version = r.version
       where r.account_id = $1 and ($2::text is null or r.list_id = $2) and ($3::text is null or r.email = $3)
         and r.status in ('running', 'waiting') and v.definition -> 'exitOn' ? 'list-removed'
       order by r.id for update of r
     )
     update journey_runs r set ${ending}, reason = 'exit rule: list-removed', ended_at = $4
     from leaving where r.account_id = $1 and r.id = leaving.id returning r.id`,
    [work.accountId, listId, email, work.now],
  )
  for (const { id } of rows) endedIn(work).add(id)
}

/** An erased address ends its runs and stands in none of them any more, nor does what started them. */
const forget = async ({ sql, accountId, now }: Work, email: string): Promise<void> => {
  await sql(
    `update journey_runs r set ${ending}, reason = 'the contact was erased', ended_at = $3
     where account_id = $1 and email = $2 and status in ('running', 'waiting')`,
    [accountId, email, now],
  )
  await sql(`update journey_runs set email = '', context = '{}' where account_id = $1 and email = $2`, [
    accountId,
    email,
  ])
}

/** Starts, wakes and ends journey runs by events (decisions.md, Journeys). */
export const runJourneysByEvents: Listener = {
  async wants(work, type) {
    const { triggers, awaited, exits } = await interestsIn(work)
    const trigger = triggersOf[type as EventType]
    return awaited.includes(type) || isExit(exits, type) || (trigger !== undefined && triggers.includes(trigger))
  },

  async receive(work, events) {
    const type = events[0]!.type as EventType
    const { triggers, awaited, exits } = await interestsIn(work)
    const happenings = await happeningsOf(work, events)
    if (happenings.length === 0) return
    if (isExit(exits, type)) await exit(work, happenings)
    if (awaited.includes(type)) await wake(work, type, happenings)
    const trigger = triggersOf[type]
    if (trigger && triggers.includes(trigger)) await start(work, type, happenings)
  },

  async contactsRemoved(work, { listId = null, email = null }) {
    await exitRemoved(work, listId, email)
    if (email !== null && listId === null) await forget(work, email)
  },
}
