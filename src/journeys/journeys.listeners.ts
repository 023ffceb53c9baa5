import { locateContact } from '../contacts/contacts.ts'
import { type EventType, eventTypes } from '../events/types.ts'
import { normalizeEmail } from '../lib/email.ts'
import type { EmittedEvent, Listener, SuppressionReason, Work } from '../store/work.ts'
import { exitRules, type TriggerKind, triggerKinds } from './journeys.definition.ts'
import {
  type EnterableJourney,
  type Entrant,
  enabledJourneys,
  enterLocked,
  lockEntrants,
  startJourneys,
} from './journeys.enrol.ts'
import { forgetList, forgetPerson } from './journeys.past.ts'
import { contextOf, isPulled, keysOf, subjectOf, triggersOf } from './journeys.triggers.ts'
import { endRuns, type Happening, settleCalls, tellRuns } from './run.wake.ts'

/*
 * What an event does to journeys, in its own transaction: it ends the runs whose exit rules it meets, wakes those that wait
 * for it, and starts new ones, which it therefore neither ends nor wakes. Locks: the contacts that enter, then deliveries,
 * then runs. Each question is a look into an index: what it costs does not grow with journeys or their versions.
 */

interface Interests {
  triggers: string[]
  awaited: string[]
  exits: string[]
}

const interests = new WeakMap<Work, Promise<Interests>>()

const readInterests = async ({ sql, accountId }: Work): Promise<Interests> => {
  const [row] = await sql<Interests>(
    `select
       array(select kind from unnest($2::text[]) kind
         where exists (select from journeys where account_id = $1 and enabled and trigger_kind = kind)) as triggers,
       array(select type from unnest($3::text[]) type
         where exists (select from journey_runs where account_id = $1 and awaited = type)) as awaited,
       array(select rule from unnest($4::text[]) rule
         where exists (select from journey_exits x where x.account_id = $1 and x.rule = rule.rule)) as exits`,
    [accountId, triggerKinds, eventTypes, exitRules],
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

/** The contact of each event: the one it names, else the address in its most recently updated list. */
const entrantsOf = async (work: Work, happenings: readonly Happening[]): Promise<Entrant[]> => {
  const homeless = happenings.flatMap(({ subject }) => (subject.listId ? [] : [subject.email]))
  const homes = new Map<string, string>()
  if (homeless.length > 0) {
    const rows = await work.sql<{ email: string; listId: string }>(
      `select i.email, c.list_id as "listId" from unnest($2::text[]) as i(email) cross join lateral (
         select list_id from contacts
         where account_id = $1 and row_id = (select row_id from addresses where account_id = $1 and email = i.email)
         order by updated_at desc, list_id limit 1
       ) c`,
      [work.accountId, homeless],
    )
    for (const { email, listId } of rows) homes.set(email, listId)
  }
  return happenings.flatMap(({ event, subject: { email, rowId, listId = homes.get(email) } }) =>
    listId ? [{ email, rowId, listId, context: contextOf(event) }] : [],
  )
}

interface Start {
  journey: EnterableJourney
  entrants: Entrant[]
}

const startsOf = async (work: Work, type: EventType, happenings: readonly Happening[]): Promise<Start[]> => {
  const keys = [...new Set(happenings.flatMap(({ event }) => keysOf(event)))]
  const starts: Start[] = []
  for (const journey of await enabledJourneys(work, triggersOf[type]!, keys)) {
    const pulling = happenings.filter(({ event }) => isPulled(journey.definition.trigger, event))
    if (pulling.length > 0) starts.push({ journey, entrants: await entrantsOf(work, pulling) })
  }
  return starts
}

/** The exit rule `list-removed`, for who left a list, or with a person alone every list. */
const exitRemoved = async (work: Work, listId?: string, rowId?: string): Promise<void> => {
  const { exits } = await interestsIn(work)
  const rule = 'list-removed'
  if (exits.includes(rule))
    await endRuns(work, `exit rule: ${rule}`, { listId, rowIds: rowId === undefined ? undefined : [rowId], rule })
}

/** The exit rules `unsubscribed` and `suppressed`, which is every other reason. */
const exitSuppressed = async (work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void> => {
  const rule = reason === 'unsubscribed' ? reason : 'suppressed'
  const { exits } = await interestsIn(work)
  if (!exits.includes(rule)) return
  const rowIds = [...(await readRowIds(work, emails)).values()]
  if (rowIds.length > 0) await endRuns(work, `exit rule: ${rule}`, { rowIds, rule })
}

/** An erased address ends its runs and stands in none of them any more, nor does what started them. */
const forget = async (work: Work, email: string, rowId?: string): Promise<void> => {
  if (rowId !== undefined) await endRuns(work, 'the contact was erased', { rowIds: [rowId] })
  await work.sql(`update journey_runs set email = '', context = '{}' where account_id = $1 and email = $2`, [
    work.accountId,
    email,
  ])
}

/** Starts the journeys of what is no event, for an address (normalised) in its most recently updated list; in none, it starts nothing. */
const startOf = async (
  work: Work,
  kind: TriggerKind,
  { id, title }: { id: string; title: string },
  email: string,
): Promise<void> => {
  const entrant = await locateContact(work, { email })
  if (entrant) await startJourneys(work, { kind, key: id, name: title, entrant })
}

const triggerOfType = Object.entries(triggersOf).map(([type, kind]) => `when '${type}' then '${kind}'`)

/** A look into an index per question: one for the type, however many types and journeys there are. */
const wanted = `
  exists (select from journeys where account_id = $1 and enabled and trigger_kind = case $2 ${triggerOfType.join(' ')} end)
  or exists (select from journey_runs where account_id = $1 and awaited = $2)
  or exists (select from journey_exits where account_id = $1 and rule = $2)
  or $2 like 'deal.%' and exists (select from journey_exits where account_id = $1 and rule in ('deal-won', 'deal-lost'))`

const receive = async (work: Work, events: readonly EmittedEvent[]): Promise<void> => {
  const type = events[0]!.type as EventType
  const { triggers, awaited, exits } = await interestsIn(work)
  const happenings = await happeningsOf(work, events)
  if (happenings.length === 0) return
  const trigger = triggersOf[type]
  const starts = trigger && triggers.includes(trigger) ? await startsOf(work, type, happenings) : []
  if (starts.length > 0) {
    await lockEntrants(
      work,
      starts.flatMap(({ entrants }) => entrants),
    )
  }
  await tellRuns(work, type, happenings, { exit: isExit(exits, type), wake: awaited.includes(type) })
  for (const { journey, entrants } of starts) await enterLocked(work, journey, entrants)
}

/** Starts, wakes and ends journey runs by events (decisions.md, Journeys). */
export const runJourneysByEvents: Listener = {
  events: { wanted, receive },

  async contactsRemoved(work, { listId, email, rowId }) {
    if (email === undefined || rowId !== undefined) await exitRemoved(work, listId, rowId)
    if (email !== undefined && listId === undefined) await forget(work, email, rowId)
    if (email !== undefined && rowId !== undefined) await forgetPerson(work, email, rowId)
    else if (listId !== undefined) await forgetList(work, listId)
  },

  addressesSuppressed: exitSuppressed,

  // A contact that waits for its confirmation has not come to its list yet: only then do the list's journeys begin.
  async contactsActivated(work, contacts) {
    for (const { listId, rowId, email } of contacts)
      await startJourneys(work, { kind: 'list-added', key: listId, entrant: { listId, rowId, email } })
  },

  attendeeRegistered: (work, { webinar, email }) => startOf(work, 'webinar-registered', webinar, email),
  memberEnrolled: (work, { course, email }) => startOf(work, 'course-enrolled', course, email),

  deliveriesEnded: settleCalls,
}
