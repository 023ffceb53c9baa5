import { idAt } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import type { Definition, TriggerKind } from './journeys.definition.ts'
import { firstCursor } from './journeys.walk.ts'
import { deepest, depthIn } from './run.cause.ts'

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

/** The account's enabled journeys with one of these triggers. */
export const enabledJourneys = (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  kinds: readonly TriggerKind[],
): Promise<EnterableJourney[]> =>
  sql<EnterableJourney>(
    `select j.id, j.version, v.definition from journeys j
     join journey_versions v on v.account_id = j.account_id and v.journey_id = j.id and v.version = j.version
     where j.account_id = $1 and j.enabled and j.trigger_kind = any($2) order by j.id`,
    [accountId, kinds],
    'enabled-journeys',
  )

const locking = `
  select count(*) from (
    select i.email, i.list from unnest($2::text[], $3::text[]) as i(email, list) order by i.email, i.list
  ) o cross join lateral (
    select 1 from contacts where account_id = $1 and email = o.email and list_id = o.list for no key update
  ) locked`

// Ids are made as newId makes them: only the statement knows how many there will be.
const entering = `
  with entered as (
    insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, reason, cursor, due_at,
      context, depth, entered_at, ended_at)
    select $1, $2 || right(replace(gen_random_uuid()::text, '-', ''), 16), $3, $4, e."listId", e."rowId", e.email,
      case when $5::text is null then 'running' else 'failed' end, $5, case when $5::text is null then $6::jsonb end, $7,
      coalesce(e.context, '{}'), $8, $7, case when $5::text is not null then $7::timestamptz end
    from jsonb_to_recordset($9::jsonb) as e("listId" text, "rowId" text, email text, context jsonb)
    where exists (select from contacts c where c.account_id = $1 and c.email = e.email and c.list_id = e."listId")
      and ($10 = 'always' or not exists (
        select from journey_runs r where r.account_id = $1 and r.journey_id = $3 and r.row_id = e."rowId"
          and r.list_id = e."listId" and ($10 = 'never' or r.status in ('running', 'waiting'))
      ))
    returning id
  )
  select id, ${notifyJourneys} from entered`

const distinct = (entrants: readonly Entrant[]): Entrant[] => [
  ...new Map(entrants.map((entrant) => [`${entrant.listId} ${entrant.rowId}`, entrant])).values(),
]

/**
 * Enters contacts into a journey, as far as its re-entry rule lets them, and gives the ids of the new runs. Who is no
 * longer in the list stays out. Where journeys have caused each other too deep, the run is there to say so, and ended.
 */
export const enterJourney = async (
  work: Work,
  { id, version, definition }: EnterableJourney,
  entrants: readonly Entrant[],
): Promise<string[]> => {
  const { sql, accountId, now } = work
  const { reentry } = definition
  const among = reentry === 'always' ? entrants : distinct(entrants)
  const depth = depthIn(work)
  const refusal = depth > deepest ? `a journey may start itself at most ${deepest} deep` : null
  await sql(locking, [accountId, among.map(({ email }) => email), among.map(({ listId }) => listId)], 'lock-entrants')
  const rows = await sql<{ id: string }>(
    entering,
    [
      accountId,
      idAt('run', now.getTime()),
      id,
      version,
      refusal,
      JSON.stringify(firstCursor(definition)),
      now,
      depth,
      JSON.stringify(among),
      reentry,
    ],
    'enter-journey',
  )
  return rows.map((row) => row.id)
}

/** Something that starts journeys: what happened, to whom. `key` is what a trigger may be bound to (a course, a webinar). */
export interface Occasion {
  kind: TriggerKind
  key?: string
  entrant: Entrant
}

const boundTo = ({ definition: { trigger } }: EnterableJourney): string | undefined => {
  if (trigger.kind === 'list-added') return trigger.list
  if (trigger.kind === 'course-enrolled') return trigger.course
  return trigger.kind === 'webinar-registered' ? trigger.webinar : undefined
}

/** Starts the journeys of what is no event: a pending contact becomes active, a course is enrolled in, a webinar registered for. */
export const startJourneys = async (work: Work, { kind, key, entrant }: Occasion): Promise<void> => {
  for (const journey of await enabledJourneys(work, [kind])) {
    const bound = boundTo(journey)
    if (bound === undefined || bound === key) await enterJourney(work, journey, [entrant])
  }
}
