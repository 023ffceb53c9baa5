import type { Contact } from '../contacts/contacts.ts'
import { nextRetryMs } from '../lib/backoff.ts'
import { idempotencyKeyHeader } from '../lib/signature.ts'
import type { App } from '../store/work.ts'
import type { Step } from './journeys.definition.ts'
import type { ClaimedRun } from './run.claim.ts'
import { fillJson, fillTags } from './steps.tags.ts'

/*
 * Steps that use a socket. They are done outside any transaction, under the run's lease, and recorded afterwards: a crash
 * between may repeat them, with the same idempotency key.
 */

/** What came of it: done, to be tried again after a wait, or never to be. */
export type Reply = { done: string } | { retryMs: number; tries: number } | { failed: string }

/** A mail of a run. `key` is the same however often the step is tried: the mail feature sends at most one for it. */
export interface JourneyMail {
  accountId: string
  key: string
  runId: string
  contact: Contact
  project: string
  type: 'marketing' | 'transactional'
  subject: string | undefined
}

/** The mail feature, as journeys call it. Gives what the step log shows; rejects where it may succeed later. */
export type SendEmail = (app: App, mail: JourneyMail) => Promise<{ done: string } | { failed: string }>

export interface SocketPorts {
  sendEmail?: SendEmail
}

export type SocketStep = Extract<Step, { kind: 'webhook' | 'send-email' }>

export const usesSocket = (step: Step): step is SocketStep => step.kind === 'webhook' || step.kind === 'send-email'

/** A webhook has this long to answer 2xx. */
export const postTimeoutMs = 5000

const triesOf = ({ context }: ClaimedRun): number => (typeof context.tries === 'number' ? context.tries : 0)

/** One key for a run and step. */
const keyOf = ({ id, stepNo }: ClaimedRun): string => `${id}:${stepNo}`

const again = (run: ClaimedRun, why: string, retryAfterSeconds?: number | null): Reply => {
  const tries = triesOf(run) + 1
  const retryMs = nextRetryMs(tries, Math.random(), retryAfterSeconds ?? 0)
  return retryMs === null ? { failed: `${why} (${tries} attempts)` } : { retryMs, tries }
}

const readName = async ({ sql }: App, { accountId, journeyId }: ClaimedRun): Promise<string> => {
  const [row] = await sql<{ name: string }>('select name from journeys where account_id = $1 and id = $2', [
    accountId,
    journeyId,
  ])
  return row?.name ?? ''
}

const bodyOf = async (app: App, run: ClaimedRun, step: SocketStep & { kind: 'webhook' }, contact: Contact) =>
  step.body === undefined
    ? { journey: { id: run.journeyId, name: await readName(app, run) }, runId: run.id, contact }
    : fillJson(step.body, contact)

const post = async (app: App, run: ClaimedRun, step: SocketStep & { kind: 'webhook' }, contact: Contact) => {
  const outcome = await app.http.post(step.url, {
    headers: { [idempotencyKeyHeader]: keyOf(run) },
    body: JSON.stringify(await bodyOf(app, run, step, contact)),
    timeoutMs: postTimeoutMs,
  })
  if (outcome.ok) return { done: `answered ${outcome.status}` }
  return again(run, outcome.error ?? `answered ${outcome.status}`, outcome.retryAfterSeconds)
}

const send = async (
  app: App,
  run: ClaimedRun,
  step: SocketStep & { kind: 'send-email' },
  contact: Contact,
  { sendEmail }: SocketPorts,
): Promise<Reply> => {
  if (!sendEmail) return { failed: 'this version of svc sends no mail' }
  const { project, type } = step
  const subject = step.subject === undefined ? undefined : fillTags(step.subject, contact)
  const mail = { accountId: run.accountId, key: keyOf(run), runId: run.id, contact, project, type, subject }
  return sendEmail(app, mail).catch(() => again(run, 'the mail could not be sent'))
}

/** Does a socket step. Never rejects for what the other side does. */
export const doSocket = (
  app: App,
  run: ClaimedRun,
  step: SocketStep,
  contact: Contact,
  ports: SocketPorts,
): Promise<Reply> => (step.kind === 'webhook' ? post(app, run, step, contact) : send(app, run, step, contact, ports))
