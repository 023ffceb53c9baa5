import type { RecordedActivity } from '../activity/activity.ts'
import { leavingEffects, locateContact, lockContacts, newestListsOf, rowIdsOf } from '../contacts/contacts.ts'
import { eraseCalls } from '../deliveries/deliveries.ts'
import { type EmittedEvent, type EventType, eventTypes } from '../events/events.ts'
import { normalizeEmail } from '../lib/email.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Listener, Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'
import type { SuppressionReason } from '../suppressions/suppressions.ts'
import { exitRules, type TriggerKind, triggerKinds } from './definition/definition.schema.ts'
import { type EnterableJourney, type Entrant, enabledJourneys, enterLocked, startJourneys } from './enrolment/enter.ts'
import { forgetList, forgetPerson } from './enrolment/past.ts'
import { contextOfData } from './enrolment/trigger.ts'
import { contextOf, matchesTrigger, subjectOf, triggerKeysOf, triggerKindOf } from './enrolment/triggers.ts'
import { eraseInDefinitions } from './journeys.erase.ts'
import { endRuns, notifyRuns, type PersonEvent, settleCalls } from './journeys.wake.ts'

/*
 * How an event changes journey runs, in the event's own transaction. It first ends the runs whose exit rules it meets and wakes
 * the runs that wait for it, then starts new runs, so that it never ends or wakes a run that it starts. Lock order: the contacts
 * that enter, then deliveries, then runs. Every condition is an index lookup, so the cost does not grow with the number of
 * journeys or versions.
 */

const findInterests = preparedStatement(
  'journey-interests',
  {
    row: { triggers: '_text', awaited: '_text', exits: '_text' },
    parameters: { accountId: 'text', triggerKinds: '_text', eventTypes: '_text', exitRules: '_text' },
  },
  `select
     array(select kind from unnest(:triggerKinds::text[]) kind
       where exists (select from journeys where account_id = :accountId and enabled and trigger_kind = kind)) as triggers,
     array(select type from unnest(:eventTypes::text[]) type
       where exists (select from journey_runs where account_id = :accountId and awaited = type)) as awaited,
     array(select rule from unnest(:exitRules::text[]) rule
       where exists (select from journey_exits x where x.account_id = :accountId and x.rule = rule.rule)) as exits`,
)

/** The triggers, awaited event types and exit rules that the account uses. */
const interests = stateKey(async ({ sql, accountId }: Work) => {
  const [row] = await sql(findInterests, { accountId, triggerKinds, eventTypes, exitRules })
  return row!
})

const isExit = (exits: readonly string[], type: string): boolean =>
  exits.includes(type) || (/^deal\./.test(type) && exits.some((rule) => rule === 'deal-won' || rule === 'deal-lost'))

const personEventsOf = async (work: Work, events: readonly EmittedEvent[]): Promise<PersonEvent[]> => {
  const subjects = events.map(subjectOf)
  const unknown = subjects.flatMap((subject) => (subject && !subject.rowId ? [normalizeEmail(subject.email)] : []))
  const rowIds = await rowIdsOf(work, unknown)
  return events.flatMap((event, i) => {
    const subject = subjects[i]
    const email = normalizeEmail(subject?.email ?? '')
    const rowId = subject?.rowId ?? rowIds.get(email)
    return subject && rowId ? [{ event, subject: { ...subject, email, rowId } }] : []
  })
}

/** Returns the contact of each event: the contact that it names, else the address in its most recently updated list. */
const entrantsOf = async (work: Work, personEvents: readonly PersonEvent[]): Promise<Entrant[]> => {
  const withoutList = personEvents.flatMap(({ subject }) => (subject.listId ? [] : [subject.email]))
  const listOfEmail = await newestListsOf(work, withoutList)
  return personEvents.flatMap(({ event, subject: { email, rowId, listId = listOfEmail.get(email) } }) =>
    listId ? [{ email, rowId, listId, context: contextOf(event) }] : [],
  )
}

interface Start {
  journey: EnterableJourney
  entrants: Entrant[]
}

const startsOf = async (work: Work, type: EventType, personEvents: readonly PersonEvent[]): Promise<Start[]> => {
  const keys = [...new Set(personEvents.flatMap(({ event }) => triggerKeysOf(event)))]
  const starts: Start[] = []
  for (const journey of await enabledJourneys(work, triggerKindOf[type]!, keys)) {
    const pulling = personEvents.filter(({ event }) => matchesTrigger(journey.definition.trigger, event))
    if (pulling.length > 0) starts.push({ journey, entrants: await entrantsOf(work, pulling) })
  }
  return starts
}

/** Applies the exit rule `list-removed` to a contact that left a list; without `listId`, every list. */
const exitRemoved = async (work: Work, listId?: string, rowId?: string): Promise<void> => {
  const { exits } = await work.state(interests)
  const rule = 'list-removed'
  if (!exits.includes(rule)) return
  const rowIds = rowId === undefined ? undefined : [rowId]
  const ended = await endRuns(work, `exit rule: ${rule}`, { listId, rowIds, rule })
  if (listId !== undefined && rowIds) work.state(leavingEffects).runs.push(...ended)
}

/** Applies the exit rule `unsubscribed`, or for every other reason `suppressed`. */
const exitSuppressed = async (work: Work, emails: readonly string[], reason: SuppressionReason): Promise<void> => {
  const rule = reason === 'unsubscribed' ? reason : 'suppressed'
  const { exits } = await work.state(interests)
  if (!exits.includes(rule)) return
  const rowIds = [...(await rowIdsOf(work, emails)).values()]
  if (rowIds.length > 0) await endRuns(work, `exit rule: ${rule}`, { rowIds, rule })
}

const findRunsOfEmail = statement(
  'runs-of-email',
  { row: { id: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  'select id from journey_runs where account_id = :accountId and email = :email',
)

const clearEmail = statement(
  'clear-runs-email',
  { parameters: { accountId: 'text', email: 'text' } },
  `update journey_runs set email = '', context = '{}' where account_id = :accountId and email = :email`,
)

/** Ends the runs of an erased address, and removes the address and the contexts from them. */
const forget = async (work: Work, email: string, rowId?: string): Promise<void> => {
  const runs = await work.sql(findRunsOfEmail, { accountId: work.accountId, email })
  await eraseCalls(
    work,
    runs.map(({ id }) => id),
  )
  if (rowId !== undefined) await endRuns(work, 'the contact was erased', { rowIds: [rowId] })
  await work.sql(clearEmail, { accountId: work.accountId, email })
}

/**
 * Starts journeys for an enrolment or a registration, which are no events, in the most recently updated list that has the address
 * (normalised). Does nothing if the address is in no list.
 */
const startOf = async (
  work: Work,
  kind: TriggerKind,
  { id, title }: { id: string; title: string },
  email: string,
): Promise<void> => {
  const entrant = await locateContact(work, { email })
  if (entrant) await startJourneys(work, { kind, key: id, name: title, entrant })
}

/** Starts journeys like `startOf`, for several addresses. Locks the contacts of all causes at once. */
const startOfMany = async (
  work: Work,
  { id, title }: { id: string; title: string },
  causes: readonly { kind: TriggerKind; emails: readonly string[] }[],
): Promise<void> => {
  const starts: Start[] = []
  for (const { kind, emails } of causes) {
    const journeys = emails.length > 0 ? await enabledJourneys(work, kind, [id, title]) : []
    if (journeys.length === 0) continue
    const [rowIds, listIds] = [await rowIdsOf(work, emails), await newestListsOf(work, emails)]
    const entrants = emails.flatMap((email) => {
      const [rowId, listId] = [rowIds.get(email), listIds.get(email)]
      return rowId && listId ? [{ email, rowId, listId }] : []
    })
    starts.push(...journeys.map((journey) => ({ journey, entrants })))
  }
  if (starts.length === 0) return
  await lockContacts(
    work,
    starts.flatMap(({ entrants }) => entrants),
  )
  for (const { journey, entrants } of starts) await enterLocked(work, journey, entrants)
}

/** Starts the journeys of reported events. Returns how many each of them started. */
const startOfActivities = async (work: Work, activities: readonly RecordedActivity[]): Promise<number[]> => {
  const started = activities.map(() => 0)
  const names = [...new Set(activities.map(({ name }) => name))]
  const journeys = await enabledJourneys(work, 'event', names)
  if (journeys.length === 0) return started
  const nameOf = ({ definition: { trigger } }: EnterableJourney) => (trigger.kind === 'event' ? trigger.name : null)
  const triggered = new Set(journeys.map(nameOf))
  await lockContacts(
    work,
    activities.filter(({ name }) => triggered.has(name)),
  )
  for (const journey of journeys)
    for (const [i, { name, data, ...contact }] of activities.entries()) {
      if (name !== nameOf(journey)) continue
      started[i]! += (await enterLocked(work, journey, [{ ...contact, ...contextOfData(data) }])).length
    }
  return started
}

const triggerOfType = Object.entries(triggerKindOf).map(([type, kind]) => `when '${type}' then '${kind}'`)

/** At most four index lookups, however many types and journeys exist. */
const receivers = `array(select 'journeys' where
  exists (select from journeys where account_id = :accountId and enabled and trigger_kind = case :type ${triggerOfType.join(' ')} end)
  or exists (select from journey_runs where account_id = :accountId and awaited = :type)
  or exists (select from journey_exits where account_id = :accountId and rule = :type)
  or :type like 'deal.%' and exists (select from journey_exits where account_id = :accountId and rule in ('deal-won', 'deal-lost')))`

const receive = async (work: Work, events: readonly EmittedEvent[]): Promise<void> => {
  const type = events[0]!.type as EventType
  const { triggers, awaited, exits } = await work.state(interests)
  const personEvents = await personEventsOf(work, events)
  if (personEvents.length === 0) return
  const trigger = triggerKindOf[type]
  const starts = trigger && triggers.includes(trigger) ? await startsOf(work, type, personEvents) : []
  if (starts.length > 0) {
    await lockContacts(
      work,
      starts.flatMap(({ entrants }) => entrants),
    )
  }
  await notifyRuns(work, type, personEvents, { exit: isExit(exits, type), wake: awaited.includes(type) })
  for (const { journey, entrants } of starts) await enterLocked(work, journey, entrants)
}

/** Starts, wakes and ends journey runs by events (docs/reference/journeys.md#triggers). */
export const runJourneysByEvents: Listener = {
  events: { receivers, receive },

  async contactsRemoved(work, { listId, email, rowId }) {
    if (email === undefined || rowId !== undefined) await exitRemoved(work, listId, rowId)
    if (email !== undefined && listId === undefined) {
      await forget(work, email, rowId)
      await eraseInDefinitions(work, email)
    }
    if (email !== undefined && rowId !== undefined) await forgetPerson(work, email, rowId)
    else if (listId !== undefined) await forgetList(work, listId)
  },

  addressesSuppressed: exitSuppressed,

  // A pending contact does not start the journeys of its list; its activation does.
  async contactsActivated(work, contacts) {
    for (const { listId, rowId, email } of contacts)
      await startJourneys(work, { kind: 'list-added', key: listId, entrant: { listId, rowId, email } })
  },

  attendeeRegistered: (work, { webinar, email }) => startOf(work, 'webinar-registered', webinar, email),
  attendanceDecided: (work, { webinar, attended, missed }) =>
    startOfMany(work, webinar, [
      { kind: 'webinar-attended', emails: attended },
      { kind: 'webinar-missed', emails: missed },
    ]),
  memberEnrolled: (work, { course, email }) => startOf(work, 'course-enrolled', course, email),

  activitiesRecorded: startOfActivities,

  deliveriesEnded: settleCalls,
}
