import type { Contact } from '../contacts/contacts.ts'
import { insertCalls } from '../deliveries/deliveries.ts'
import type { Work } from '../store/work.ts'
import type { Step } from './journeys.definition.ts'
import type { Doer, Effect } from './steps.effects.ts'
import { fillJson } from './steps.tags.ts'

/*
 * Steps whose effect leaves the house. Here they write a row, in the transaction that moves the run; carrying it out is
 * for the jobs that own those rows.
 */

/** A mail of a run. `key` is one for a run and step: at most one mail is sent for it. */
export interface JourneyMail {
  key: string
  journeyId: string
  contact: Contact
  /** Its id; of a version that was applied before names were resolved, its name. */
  project: string
  type: 'marketing' | 'transactional'
  /** Its merge tags not filled yet; left out: the project's name. */
  subject: string | undefined
}

/**
 * The mail feature, as journeys call it: inserts a message for each mail, in the unit of work, and gives what the step log
 * shows of each, in their order. That a mail can't go is such an outcome: it ends no run.
 */
export type SendMails = (work: Work, mails: readonly JourneyMail[]) => Promise<string[]>

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

const keyOf = ({ runId, stepNo }: Doer): string => `${runId}:${stepNo}`

const nameOf = async ({ sql, accountId }: Work, id: string): Promise<string> => {
  const [row] = await sql<{ name: string }>(
    'select name from journeys where account_id = $1 and id = $2',
    [accountId, id],
    'journey-name',
  )
  return row?.name ?? ''
}

/** A delivery for each run, whose end it waits for. */
export const postCalls = async (work: Work, step: StepOf<'webhook'>, doers: readonly Doer[]): Promise<Effect[]> => {
  const { url, body } = step
  const id = doers[0]!.journeyId
  const journey = body === undefined ? { id, name: await nameOf(work, id) } : undefined
  const calls = doers.map((doer) => {
    const { runId, contact } = doer
    const sent = body === undefined ? { journey, runId, contact } : fillJson(body, contact)
    return { url, key: keyOf(doer), body: JSON.stringify(sent) }
  })
  const ids = await insertCalls(work, { kind: 'journey', id }, calls)
  return ids.map((deliveryId) => ({ deliveryId }))
}

/** A message for each run, which goes on at once. */
export const sendMails = async (
  work: Work,
  step: StepOf<'send-email'>,
  doers: readonly Doer[],
  send: SendMails,
): Promise<Effect[]> => {
  const { project, type, subject } = step
  const mails = doers.map((doer) => {
    const { journeyId, contact } = doer
    return { key: keyOf(doer), journeyId, contact, project, type, subject }
  })
  return (await send(work, mails)).map((outcome) => ({ outcome }))
}
