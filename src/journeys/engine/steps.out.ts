import type { Contact } from '../../contacts/contacts.ts'
import { insertCalls } from '../../deliveries/deliveries.ts'
import type { Work } from '../../store/work.ts'
import { nameOfJourney } from '../journeys.find.ts'
import { dataOf, fillJson } from './steps.tags.ts'
import type { Effect, RunAtStep, RunData, StepOf } from './steps.types.ts'

/*
 * Steps with an effect outside the database: webhooks and emails. They insert a row in the transaction that moves the run; the
 * jobs of deliveries and messages send it.
 */

/** An email of a run. `key` is unique for run and step: at most one email is sent for it. */
interface JourneyMail {
  key: string
  journeyId: string
  contact: Contact
  /** The data of the run's trigger, which takes precedence over the contact's fields. */
  data: RunData
  /** The id of the project; for a version that was applied before projects were resolved, the name. */
  project: string
  type: 'marketing' | 'transactional'
  /** The subject with unfilled merge tags. It is undefined for the project's name. */
  subject: string | undefined
  /** The id or the address of the sender. It is undefined for the account's default. */
  sender: string | undefined
  /** It is undefined for that of the sender. */
  replyTo: string | undefined
}

/**
 * Inserts a message for each email in the unit of work. Returns the outcomes for the step log, in their order. An email that can't
 * be sent is such an outcome: it does not end the run.
 */
export type SendMails = (work: Work, mails: readonly JourneyMail[]) => Promise<string[]>

const keyOf = ({ runId, stepNo }: RunAtStep): string => `${runId}:${stepNo}`

/** Returns what a webhook step posts for a run. `journey` is that of the run. */
export const callBody = (step: StepOf<'webhook'>, run: RunAtStep, journey: { id: string; name: string }): unknown => {
  if (step.body !== undefined) return fillJson(step.body, run)
  const { runId, contact, context } = run
  const data = dataOf(context)
  return { journey, runId, contact, ...(Object.keys(data).length > 0 && { data }) }
}

/** Inserts a delivery for each run. The run waits for its end. */
export const postCalls = async (work: Work, step: StepOf<'webhook'>, runs: readonly RunAtStep[]): Promise<Effect[]> => {
  const { url, body } = step
  const id = runs[0]!.journeyId
  const journey = { id, name: body === undefined ? await nameOfJourney(work, id) : '' }
  const calls = runs.map((run) => ({ url, key: keyOf(run), body: JSON.stringify(callBody(step, run, journey)) }))
  const ids = await insertCalls(work, { kind: 'journey', id }, calls)
  return ids.map((deliveryId) => ({ deliveryId }))
}

/** Inserts a message for each run. The run continues at once. */
export const sendMails = async (
  work: Work,
  step: StepOf<'send-email'>,
  runs: readonly RunAtStep[],
  send: SendMails,
): Promise<Effect[]> => {
  const { project, type, subject, sender, replyTo } = step
  const mails = runs.map((run) => {
    const { journeyId, contact, context } = run
    return { key: keyOf(run), journeyId, contact, data: dataOf(context), project, type, subject, sender, replyTo }
  })
  return (await send(work, mails)).map((outcome) => ({ outcome }))
}
