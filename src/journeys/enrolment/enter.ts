import { isContact } from '../../contacts/contacts.rows.ts'
import { lockContacts } from '../../contacts/contacts.ts'
import { idAt } from '../../lib/ids.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import type { Definition, TriggerKind } from '../definition/definition.schema.ts'
import { firstCursor } from '../definition/walk.ts'
import { causeFor, journeyStateOf, maxDepth, maxRunsPerRoot } from '../journeys.cause.ts'
import { journeysChannel } from '../journeys.channel.ts'

/*
 * Entry of contacts into journeys. A transaction first locks the contact, and reads its earlier runs in a later statement. So each
 * of several concurrent entries sees the entries before it, and re-entry rules are exact (docs/reference/journeys.md#entry).
 */

/** A contact that will enter, with the context of its run. */
export interface Entrant {
  listId: string
  rowId: string
  email: string
  context?: Record<string, unknown>
}

const enterable = { id: 'text', version: 'int4', definition: typed<Definition>('jsonb') } as const

/** A journey with its newest version, which contacts enter. */
export type EnterableJourney = RowOf<typeof enterable>

const readEnabled = preparedStatement(
  'enabled-journeys',
  { row: enterable, parameters: { accountId: 'text', kind: 'text', keys: '_text' } },
  `select j.id, j.version, v.definition from (
     select id, version from journeys where account_id = :accountId and enabled and trigger_kind = :kind and trigger_key is null
     union all
     select id, version from journeys where account_id = :accountId and enabled and trigger_kind = :kind and trigger_key = any(:keys)
   ) j join journey_versions v on v.account_id = :accountId and v.journey_id = j.id and v.version = j.version order by j.id`,
)

/** Returns the account's enabled journeys with the trigger kind that are bound to one of the keys or to none. */
export const enabledJourneys = (
  { sql, accountId }: AccountSql,
  kind: TriggerKind,
  keys: readonly string[],
): Promise<EnterableJourney[]> => sql(readEnabled, { accountId, kind, keys })

// Entries that are caused by the same root run wait for each other on that run's row. A unit of work locks all its roots at once.
const lockRoots = statement(
  'lock-root-runs',
  { parameters: { accountId: 'text', ids: '_text' } },
  'select from journey_runs where account_id = :accountId and id = any(:ids) order by id for no key update',
)

// `nth` numbers the entrants of one root; it is added to the runs that the root already has. The statement builds ids as newId
// does, because only it knows how many runs there will be. It does not stay prepared, as in journeys/journeys.wake.ts.
const enterContacts = statement(
  'enter-contacts',
  {
    row: { id: 'text?', causeId: 'text?' },
    parameters: {
      accountId: 'text',
      idStart: 'text',
      journeyId: 'text',
      version: 'int4',
      cursor: 'jsonb',
      entrants: 'jsonb',
      reentry: 'text',
      now: 'timestamptz',
    },
  },
  `with entrant as (
     select e.*, row_number() over (partition by e."rootId" order by e.place) as nth
     from jsonb_to_recordset(:entrants::jsonb) as e("listId" text, "rowId" text, email text, context jsonb, depth int,
       "rootId" text, "causeId" text, place int)
     where ${isContact({ account: ':accountId', rowId: 'e."rowId"', listId: 'e."listId"' })}
       and (:reentry = 'always' or not exists (
         select from journey_runs r where r.account_id || '' = :accountId and r.journey_id = :journeyId and r.row_id = e."rowId"
           and r.list_id = e."listId" and (:reentry = 'never' or r.status in ('running', 'waiting'))
       ))
       and (:reentry <> 'never' or not exists (
         select from past_entries p
         where p.account_id = :accountId and p.list_id = e."listId" and p.row_id = e."rowId" and p.journey_id = :journeyId offset 0
       ))
   ), budgeted as (
     select e.*, e."rootId" is null or e.nth + 1 + (
       select count(*) from journey_runs r where r.account_id || '' = :accountId and r.root_id = e."rootId"
     ) <= ${maxRunsPerRoot} as "isStarted" from entrant e
   ), entered as (
     insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, reason, cursor, due_at,
       context, depth, root_id, entered_at, ended_at)
     select :accountId, :idStart || right(replace(gen_random_uuid()::text, '-', ''), 16), :journeyId, :version, "listId", "rowId", email,
       case when depth > ${maxDepth} then 'failed' else 'running' end,
       case when depth > ${maxDepth} then 'a journey may start itself at most ${maxDepth} deep' end,
       case when depth <= ${maxDepth} then :cursor::jsonb end, :now, coalesce(context, '{}'), depth, "rootId", :now,
       case when depth > ${maxDepth} then :now::timestamptz end
     from budgeted where "isStarted" returning id
   )
   select id, null as "causeId" from entered
   union all select null, "causeId" from budgeted where not "isStarted"`,
)

const distinct = (entrants: readonly Entrant[]): Entrant[] => [
  ...new Map(entrants.map((entrant) => [`${entrant.listId} ${entrant.rowId}`, entrant])).values(),
]

/** Returns the entrant with the run that causes its entry, if there is one. */
const withCause = (work: Work, entrant: Entrant, place: number) => {
  const cause = causeFor(work, entrant.rowId)
  if (!cause) return { ...entrant, place, depth: 0, rootId: null, causeId: null }
  return { ...entrant, place, depth: cause.depth + 1, rootId: cause.rootId ?? cause.id, causeId: cause.id }
}

/**
 * Enters contacts, which the caller has locked, into a journey if its re-entry rule allows it. Returns the ids of the new runs.
 * Skips contacts that are no longer in the list. A run beyond `maxDepth` is inserted as failed. Beyond `maxRunsPerRoot` no run is
 * inserted; the step log of the causing run reports it.
 */
export const enterLocked = async (
  work: Work,
  { id, version, definition }: EnterableJourney,
  entrants: readonly Entrant[],
): Promise<string[]> => {
  const { sql, accountId, now, announce } = work
  const { reentry } = definition
  const candidates = (reentry === 'always' ? entrants : distinct(entrants)).map((entrant, i) =>
    withCause(work, entrant, i),
  )
  const { actors, unstarted } = journeyStateOf(work)
  const roots = new Set(actors.map(({ id: actorId, rootId }) => rootId ?? actorId))
  if (roots.size > 0) await sql(lockRoots, { accountId, ids: [...roots] })
  const rows = await sql(enterContacts, {
    accountId,
    idStart: idAt('run', now.getTime()),
    journeyId: id,
    version,
    cursor: JSON.stringify(firstCursor(definition)),
    entrants: JSON.stringify(candidates),
    reentry,
    now,
  })
  for (const { causeId } of rows) if (causeId) unstarted.set(causeId, (unstarted.get(causeId) ?? 0) + 1)
  const entered = rows.flatMap((row) => row.id ?? [])
  if (entered.length > 0) announce(journeysChannel, '', { ownFirst: true })
  return entered
}

/** Locks contacts and enters them, as `enterLocked`. */
export const enterJourney = async (work: Work, journey: EnterableJourney, entrants: readonly Entrant[]) => {
  await lockContacts(work, entrants)
  return enterLocked(work, journey, entrants)
}

/** A cause of journeys that is no event. `key` and `name` are the id and the name of what a trigger may be bound to, such as a course. */
interface JourneyStart {
  kind: TriggerKind
  key?: string
  name?: string
  entrant: Entrant
}

/** Starts journeys without an event: on the activation of a pending contact, a course enrolment or a webinar registration. */
export const startJourneys = async (work: Work, { kind, key, name, entrant }: JourneyStart): Promise<void> => {
  for (const journey of await enabledJourneys(work, kind, [key ?? [], name ?? []].flat())) {
    await enterJourney(work, journey, [entrant])
  }
}
