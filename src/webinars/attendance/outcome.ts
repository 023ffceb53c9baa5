import { boundEvents } from '../../lifecycle/lifecycle.ts'
import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { type MailApp, notifyAttendees } from '../emails/emails.ts'
import type { WebinarRow } from '../sessions/sessions.find.ts'
import { webinarRegistrations } from '../webinars.columns.ts'
import { minutesSeen } from './attendees.ts'

const outcomes = ['attended', 'missed'] as const

const countOutcomes = statement(
  'count-outcomes',
  { row: { attended: 'int8', missed: 'int8' }, parameters: { accountId: 'text', webinarId: 'text' } },
  `select count(*) filter (where seen is not null) as attended, count(*) filter (where seen is null) as missed
   from webinar_registrations where account_id = :accountId and webinar_id = :webinarId and status = 'confirmed' and email <> ''`,
)

/** Returns how many people would get an email if the webinar ended now. */
export const planOutcome = async (work: Work, webinarId: string): Promise<{ mails: number }> => {
  const bound = await boundEvents(work, { kind: 'webinar', id: webinarId })
  const [counts] = await work.sql(countOutcomes, { accountId: work.accountId, webinarId })
  return { mails: outcomes.reduce((sum, outcome) => sum + (bound.has(outcome) ? counts![outcome] : 0), 0) }
}

const decideAll = statement(
  'decide-attendance',
  {
    row: { ...types(webinarRegistrations, 'id', 'email', 'name'), attended: 'bool', minutes: 'int4?' },
    parameters: { accountId: 'text', registrationIds: '_text' },
  },
  `update webinar_registrations r set remind_at = null, attended = r.seen is not null
   where r.account_id = :accountId and r.id = any(:registrationIds)
   returning r.id, r.email, r.name, r.attended, ${minutesSeen('r')} as minutes`,
)

/**
 * Decides who of some registrations of an ended webinar attended, which the caller has locked: their journeys start, and the
 * emails of bound events are queued, one for each person. Later reports of theirs do not count.
 */
export const publishOutcome = async (
  app: MailApp,
  work: Work,
  webinar: WebinarRow,
  registrationIds: readonly string[],
): Promise<void> => {
  const { id, title } = webinar
  const decided = await work.sql(decideAll, { accountId: work.accountId, registrationIds })
  const people = decided.map((person) => ({ ...person, minutes: person.minutes ?? 0 }))
  const of = { attended: people.filter(({ attended }) => attended), missed: people.filter(({ attended }) => !attended) }
  const [attended, missed] = outcomes.map((outcome) => of[outcome].map(({ email }) => email))
  for (const listener of await work.listeners())
    await listener.attendanceDecided?.(work, { webinar: { id, title }, attended: attended!, missed: missed! })
  const bound = await boundEvents(work, { kind: 'webinar', id })
  for (const outcome of outcomes) {
    if (bound.has(outcome))
      await notifyAttendees(app, work, webinar, outcome, of[outcome], (person) => `outcome:${person.id}`)
  }
}
