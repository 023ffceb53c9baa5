import { invalid, notFound, Problem } from '../../lib/problem.ts'
import { type From, type Method, readMethod } from '../../senders/senders.ts'
import type { App, Work } from '../../store/work.ts'
import { hasTopicId } from '../../suppressions/suppressions.ts'
import { largeMails } from '../messages.queue.ts'
import { fillSubject, subjectLine } from '../messages.shapes.ts'
import { insertAttachments } from '../outbox/attachments.ts'
import { type Inserted, insertMessages, type NewMessage } from '../outbox/insert.ts'
import type { ClaimedMessage, Content } from '../outbox/outbox.claim.ts'
import { takeCallQuotas } from './send.quotas.ts'
import type { SendBody } from './send.shapes.ts'

/** One call of POST /send, or of `svc send`, which does not count against the quota of calls. */
export interface Call {
  body: SendBody
  /** The stored idempotency key; null if there is none. */
  key: string | null
  countsCall: boolean
}

/** The outcome of a call. With `taken`, an earlier call has used its key. */
export type Reserved =
  | {
      inserted: Inserted
      /** The message and its copies to cc and bcc. It is empty if they wait in the queue, for their time or because it is paused. */
      claims: ClaimedMessage[]
      /** The recipients of cc and bcc that are suppressed. */
      suppressed: string[]
    }
  | { taken: true }
  | { refusal: Problem }

const scheduleMaxMs = 30 * 86_400_000

const scheduleProblem = ({ scheduledAt }: SendBody, now: Date): Problem | null => {
  const waitMs = (scheduledAt ?? now.getTime()) - now.getTime()
  if (waitMs >= 0 && waitMs <= scheduleMaxMs) return null
  return invalid('scheduledAt must be between now and 30 days from now')
}

const topicProblem = async ({ sql, accountId }: Work, { topicId }: SendBody): Promise<Problem | null> => {
  if (topicId === undefined || (await hasTopicId({ sql, accountId }, topicId))) return null
  return notFound('There is no such topic', { hint: 'svc topics list' })
}

const contentOf = async (
  app: App,
  work: Work,
  { projectId, mergeData = {}, subject, html, text }: SendBody,
): Promise<Pick<NewMessage, 'content' | 'subject'> | Problem> => {
  if (projectId === undefined) return { subject: subjectLine(subject!), content: { html: html!, text: text! } }
  const project = (await app.projects?.loadProject(work, projectId)) ?? null
  if (!project) return notFound('There is no such project', { hint: 'svc projects list' })
  return {
    subject: subjectLine(fillSubject(subject ?? project.name, mergeData)),
    content: { projectId, version: project.version, mergeData },
  }
}

/** Returns the recipients of copies. An address that is named twice gets one. */
const copiesOf = ({ to, cc = [], bcc = [] }: SendBody): { kind: 'cc' | 'bcc'; email: string }[] => {
  const emails = new Set([...cc, ...bcc])
  emails.delete(to)
  return [...emails].map((email) => ({ kind: cc.includes(email) ? 'cc' : 'bcc', email }))
}

/** A message that the account may send. */
type Sendable = NewMessage & From

/** Returns the message of a call to its `to`, or why the account can't send it. */
const messageOf = async (app: App, work: Work, method: Method, { body, key }: Call): Promise<Sendable | Problem> => {
  const from = method.refusal ?? method.from(body)
  if (from instanceof Problem) return from
  const content =
    scheduleProblem(body, work.now) ?? (await topicProblem(work, body)) ?? (await contentOf(app, work, body))
  if (content instanceof Problem) return content
  return {
    ...from,
    ...content,
    key,
    source: { kind: 'send', id: null },
    type: body.type,
    topicId: body.topicId,
    to: body.to,
    headers: body.headers,
    attachments: body.attachments?.length,
    copy: copiesOf(body).length > 0 ? { kind: 'to', of: null } : undefined,
    error: null,
    isPatient: body.scheduledAt !== undefined,
    scheduledAt: body.scheduledAt === undefined ? undefined : new Date(body.scheduledAt),
  }
}

/** Attachments of more bytes than this are large. */
const largeBytes = 1024 * 1024

/** Returns the stream in which the messages of calls wait. Only a call that is reserved by itself has attachments. */
const streamOf = (calls: readonly Call[]): string => {
  const attached = calls.flatMap(({ body }) => body.attachments ?? [])
  return attached.reduce((sum, { content }) => sum + content.length, 0) > largeBytes ? largeMails : ''
}

interface Draft {
  call: Call
  message: Sendable
}

interface Written extends Draft {
  inserted: Inserted
}

const isPending = ({ inserted }: Written): boolean => inserted.status === 'pending'

type Insert = (messages: readonly Sendable[]) => Promise<(Inserted | undefined)[]>

/** Inserts messages with their attachments. Those whose key is taken are left out. */
const insertFirsts = async (work: Work, insert: Insert, drafts: readonly Draft[]): Promise<Written[]> => {
  const rows = await insert(drafts.map(({ message }) => message))
  const firsts = drafts.flatMap((draft, i) => (rows[i] ? { ...draft, inserted: rows[i] } : []))
  for (const { call, inserted } of firsts.filter(isPending))
    await insertAttachments(work, inserted.id, call.body.attachments ?? [])
  return firsts
}

/** Inserts the copies of messages. A message that is suppressed has none. */
const insertCopies = async (insert: Insert, firsts: readonly Written[]): Promise<Written[]> => {
  const drafts = firsts.filter(isPending).flatMap(({ call, message, inserted }): Draft[] =>
    copiesOf(call.body).map(({ kind, email }) => ({
      call,
      message: { ...message, key: null, to: email, copy: { kind, of: inserted.id } },
    })),
  )
  const rows = await insert(drafts.map(({ message }) => message))
  return drafts.map((draft, i) => ({ ...draft, inserted: rows[i]! }))
}

/** The worker that claims the inserted messages, and their relay and stream. */
type Claimant = Pick<ClaimedMessage, 'accountId' | 'worker' | 'relay' | 'batch'> & { now: Date }

const none = { html: null, text: null, calendar: null, projectId: null, projectVersion: null, mergeData: null }

/** Returns an inserted message as a claim that carries its content, so that the content need not be loaded again. */
const claimOf = (
  { accountId, worker, relay, batch, now }: Claimant,
  { message, inserted: { id, sealedKey } }: Written,
  addressees: Content['addressees'],
): ClaimedMessage => {
  const { type, to, fromEmail, fromName, replyTo, subject, content, headers, attachments, copy } = message
  return {
    accountId,
    id,
    batch,
    worker,
    claim: 1,
    tries: 0,
    isPatient: false,
    relay,
    content: {
      accountId,
      id,
      type,
      email: to,
      fromEmail,
      fromName,
      replyTo,
      subject,
      sealedKey,
      domain: fromEmail.slice(fromEmail.lastIndexOf('@') + 1),
      createdAt: now,
      dueAt: now,
      ...none,
      ...(content && 'version' in content ? { ...content, projectVersion: content.version } : content),
      headers: headers ?? null,
      attachmentsOf: attachments ? (copy?.of ?? id) : null,
      addressees,
    },
  }
}

/** Returns the outcome of a call whose message was inserted. `claimant` is null if no worker claims it. */
const outcomeOf = (first: Written, copies: readonly Written[], claimant: Claimant | null): Reserved => {
  const { message, inserted } = first
  const pending = [first, ...copies].filter(isPending)
  const cc = pending.flatMap(({ message }) => (message.copy?.kind === 'cc' ? message.to : []))
  const addressees = message.copy ? { to: message.to, cc } : null
  const isClaimed = claimant !== null && message.scheduledAt === undefined
  return {
    inserted,
    claims: isClaimed ? pending.map((written) => claimOf(claimant, written, addressees)) : [],
    suppressed: copies.flatMap(({ message, inserted }) => (inserted.status === 'suppressed' ? message.to : [])),
  }
}

/**
 * Reserves calls of one account in one unit of work. One statement reads relay and senders, a second one inserts the messages,
 * claimed by `worker` or unclaimed if it is null, a third one inserts copies (cc, bcc) if there are any, and the quotas are
 * counted last. Throws Problem `limited` if a quota has too little left for all calls; nothing is written then.
 */
export const reserve = async (
  app: App,
  work: Work,
  calls: readonly Call[],
  worker: number | null,
): Promise<Reserved[]> => {
  const { accountId, now } = work
  const bodies = calls.map(({ body }) => body)
  const method = await readMethod(app, work, bodies)
  const refusals = new Map<Call, Problem>()
  const drafts: Draft[] = []
  for (const call of calls) {
    const message = await messageOf(app, work, method, call)
    if (message instanceof Problem) refusals.set(call, message)
    else drafts.push({ call, message })
  }
  const batch = streamOf(calls)
  const insert: Insert = async (messages) =>
    messages.length > 0 ? insertMessages(work, messages, worker, { id: batch, isHeld: false }) : []
  const firsts = await insertFirsts(work, insert, drafts)
  const copies = await insertCopies(insert, firsts)
  await takeCallQuotas(work, {
    sendApiCalls: firsts.filter(({ call }) => call.countsCall).length,
    sends: [...firsts, ...copies].filter(isPending).length,
  })
  const claimant = worker === null ? null : { accountId, worker, relay: method.relay, batch, now }
  const copiesByCall = Map.groupBy(copies, ({ call }) => call)
  const outcomes = new Map(
    firsts.map((first) => [first.call, outcomeOf(first, copiesByCall.get(first.call) ?? [], claimant)]),
  )
  return calls.map((call) => {
    const refusal = refusals.get(call)
    return refusal ? { refusal } : (outcomes.get(call) ?? { taken: true })
  })
}
