import { idAt } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import type { Definition, TriggerKind } from './journeys.definition.ts'
import { firstCursor } from './journeys.walk.ts'
import { causeFor, deepest, doingsOf, mostOfRoot } from './run.cause.ts'

/*
 * The rule of entry: who enters a contact first locks the contact and looks for its earlier runs in a later statement. So
 * of any number of entries at once, each sees those before it, and re-entry is exact (decisions.md, Journeys).
 */

/** The jobs that run journeys listen on this channel. */
export const notifyJourneys = `pg_notify('svc_journeys', '')`

/** A contact on its way in, with what the trigger brought along. */
export interface Entrant {
  listId: string
  rowId: string
  email: string
  context?: Record<string, unknown>
}

/** A journey as it is entered: its newest version. */
export interface EnterableJourney {
  id: string
  version: number
  definition: Definition
}

/** The account's enabled journeys with the trigger, bound to one of the keys or to none. */
export const enabledJourneys = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  kind: TriggerKind,
  keys: readonly string[],
): Promise<EnterableJourney[]> =>
  sql<EnterableJourney>(
    `select j.id, j.version, v.definition from (
       select id, version from journeys where account_id = $1 and enabled and trigger_kind = $2 and trigger_key is null
       union all
       select id, version from journeys where account_id = $1 and enabled and trigger_kind = $2 and trigger_key = any($3)
     ) j join journey_versions v on v.account_id = $1 and v.journey_id = j.id and v.version = j.version order by j.id`,
    [accountId, kind, keys],
    'enabled-journeys',
  )

const locking = `
  select count(*) from (
    select i.email, i.list from unnest($2::text[], $3::text[]) as i(email, list) order by i.email collate "C", i.list
  ) o
  cross join lateral (select row_id from addresses where account_id = $1 and email = o.email limit 1) a
  cross join lateral (
    select 1 from contacts where account_id = $1 and row_id = a.row_id and list_id = o.list for no key update
  ) locked`

/** Locks the contacts that are to enter journeys. Who locks runs as well does this before. */
export const lockEntrants = async (
  { sql, accountId }: Work,
  entrants: readonly Pick<Entrant, 'email' | 'listId'>[],
): Promise<void> => {
  const columns = [entrants.map(({ email }) => email), entrants.map(({ listId }) => listId)]
  await sql(locking, [accountId, ...columns], 'lock-entrants')
}

// Who comes of a run waits for the others that come of the same root, by its row; a unit of work locks all its roots at once.
const lockRoots = `select from journey_runs where account_id = $1 and id = any($2) order by id for no key update`

// `nth` counts those of one root, on top of those that it has. Ids are made as newId makes them: only the statement knows how
// many there will be. Not kept prepared, as in run.wake.ts. `offset 0`: each contact is a probe of its own, not a part of a join
// with all of the account's.
const entering = `
  with entrant as (
    select e.*, row_number() over (partition by e."rootId" order by e.place) as nth
    from jsonb_to_recordset($6::jsonb) as e("listId" text, "rowId" text, email text, context jsonb, depth int,
      "rootId" text, "causeId" text, place int)
    where exists (
        select from contacts c where c.account_id = $1 and c.row_id = e."rowId" and c.list_id = e."listId" offset 0
      )
      and ($7 = 'always' or not exists (
        select from journey_runs r where r.account_id || '' = $1 and r.journey_id = $3 and r.row_id = e."rowId"
          and r.list_id = e."listId" and ($7 = 'never' or r.status in ('running', 'waiting'))
      ))
      and ($7 <> 'never' or not exists (
        select from past_entries p
        where p.account_id = $1 and p.list_id = e."listId" and p.row_id = e."rowId" and p.journey_id = $3 offset 0
      ))
  ), budgeted as (
    select e.*, e."rootId" is null or e.nth + 1 + (
      select count(*) from journey_runs r where r.account_id || '' = $1 and r.root_id = e."rootId"
    ) <= ${mostOfRoot} as "isStarted" from entrant e
  ), entered as (
    insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, reason, cursor, due_at,
      context, depth, root_id, entered_at, ended_at)
    select $1, $2 || right(replace(gen_random_uuid()::text, '-', ''), 16), $3, $4, "listId", "rowId", email,
      case when depth > ${deepest} then 'failed' else 'running' end,
      case when depth > ${deepest} then 'a journey may start itself at most ${deepest} deep' end,
      case when depth <= ${deepest} then $5::jsonb end, $8, coalesce(context, '{}'), depth, "rootId", $8,
      case when depth > ${deepest} then $8::timestamptz end
    from budgeted where "isStarted" returning id
  )
  select id, null as "causeId", ${notifyJourneys} from entered
  union all select null, "causeId", null from budgeted where not "isStarted"`

const distinct = (entrants: readonly Entrant[]): Entrant[] => [
  ...new Map(entrants.map((entrant) => [`${entrant.listId} ${entrant.rowId}`, entrant])).values(),
]

/** With what the entry comes of. */
const withCause = (work: Work, entrant: Entrant, place: number) => {
  const cause = causeFor(work, entrant.rowId)
  if (!cause) return { ...entrant, place, depth: 0, rootId: null, causeId: null }
  return { ...entrant, place, depth: cause.depth + 1, rootId: cause.rootId ?? cause.id, causeId: cause.id }
}

/**
 * Enters contacts, which the caller has locked, into a journey, as far as its re-entry rule lets them, and gives the ids of
 * the new runs. Who is no longer in the list stays out. Where journeys have caused each other too deep, the run is there to
 * say so, and ended; where too many have come of one run, the step log of who causes one more says that it is not started.
 */
export const enterLocked = async (
  work: Work,
  { id, version, definition }: EnterableJourney,
  entrants: readonly Entrant[],
): Promise<string[]> => {
  const { sql, accountId, now } = work
  const { reentry } = definition
  const among = (reentry === 'always' ? entrants : distinct(entrants)).map((entrant, i) => withCause(work, entrant, i))
  const { actors, unstarted } = doingsOf(work)
  const roots = new Set(actors.map(({ id: actorId, rootId }) => rootId ?? actorId))
  if (roots.size > 0) await sql(lockRoots, [accountId, [...roots]])
  const cursor = JSON.stringify(firstCursor(definition))
  const params = [accountId, idAt('run', now.getTime()), id, version, cursor, JSON.stringify(among), reentry, now]
  const rows = await sql<{ id: string | null; causeId: string | null }>(entering, params)
  for (const { causeId } of rows) if (causeId) unstarted.set(causeId, (unstarted.get(causeId) ?? 0) + 1)
  return rows.flatMap((row) => row.id ?? [])
}

/** The same for contacts that nobody has locked yet. */
export const enterJourney = async (work: Work, journey: EnterableJourney, entrants: readonly Entrant[]) => {
  await lockEntrants(work, entrants)
  return enterLocked(work, journey, entrants)
}

/** Something that starts journeys: what happened, to whom. `key` is what a trigger may be bound to (a course, a webinar), by its id or by its `name`. */
export interface Occasion {
  kind: TriggerKind
  key?: string
  name?: string
  entrant: Entrant
}

/** Starts the journeys of what is no event: a pending contact becomes active, a course is enrolled in, a webinar registered for. */
export const startJourneys = async (work: Work, { kind, key, name, entrant }: Occasion): Promise<void> => {
  for (const journey of await enabledJourneys(work, kind, [key ?? [], name ?? []].flat())) {
    await enterJourney(work, journey, [entrant])
  }
}
