import { secondsToNextMonth, takeQuotas } from '../../accounts/accounts.ts'
import { invalid, notFound, Problem } from '../../lib/problem.ts'
import type { App, Work } from '../../store/work.ts'
import { type Method, readMethod } from '../identity/identity.ts'
import type { StoredRelay } from '../identity/relays.rows.ts'
import { largeMails } from '../messages.queue.ts'
import { fillSubject, subjectLine } from '../messages.shapes.ts'
import {
  type Batch,
  type ClaimedMessage,
  type Inserted,
  insertAttachments,
  insertMessages,
  type Content as MessageContent,
  type NewMessage,
  sendQuotaUsedUp,
} from '../outbox/outbox.ts'
import { hasTopicId } from '../topics/topics.ts'
import type { SendBody } from './send.shapes.ts'

/** One call of POST /send, or of `svc send`, which does not count against the quota of calls. */
export interface Call {
  body: SendBody
  /** The stored idempotency key; null if there is none. */
  key: string | null
  countsCall: boolean
}

/** The outcome of a call. `taken`: an earlier call has used its key. */
export type Reserved =
  | {
      inserted: Inserted
      /** The message and its copies to cc and bcc. None: they wait in the queue, for their time or because it is paused. */
      claims: ClaimedMessage[]
      /** The recipients of cc and bcc that are suppressed. */
      suppressed: string[]
    }
  | { taken: true }
  | { refusal: Problem }

const quotaSentences = {
  sendApiCalls: 'Monthly Send API quota for your plan exceeded',
  sends: sendQuotaUsedUp,
} as const

export const quotaProblem = (quota: keyof typeof quotaSentences, now: Date): Problem =>
  new Problem('limited', quotaSentences[quota], { retryAfterSeconds: secondsToNextMonth(now) })

type Content = Pick<NewMessage, 'content' | 'subject'>

const contentOf = async (
  app: App,
  work: Work,
  { projectId, mergeData = {}, subject, html, text }: SendBody,
): Promise<Content | Problem> => {
  if (projectId === undefined) return { subject: subjectLine(subject!), content: { html: html!, text: text! } }
  const project = (await app.projects?.loadProject(work, projectId)) ?? null
  if (!project) return notFound('There is no such project', { hint: 'svc projects list' })
  return {
    subject: subjectLine(fillSubject(subject ?? project.name, mergeData)),
    content: { projectId, version: project.version, mergeData },
  }
}

const topicProblem = async ({ sql, accountId }: Work, { topicId }: SendBody): Promise<Problem | null> => {
  if (topicId === undefined || (await hasTopicId({ sql, accountId }, topicId))) return null
  return notFound('There is no such topic', { hint: 'svc topics list' })
}

const scheduleMaxMs = 30 * 86_400_000

const scheduleProblem = ({ scheduledAt }: SendBody, now: Date): Problem | null => {
  const waitMs = (scheduledAt ?? now.getTime()) - now.getTime()
  if (waitMs >= 0 && waitMs <= scheduleMaxMs) return null
  return invalid('scheduledAt must be between now and 30 days from now')
}

/** Attachments of more bytes than this are large. */
const largeBytes = 1024 * 1024

/** Returns the stream in which the messages of calls wait. Only a call that is reserved by itself has attachments. */
const streamOf = (calls: readonly Call[]): string => {
  const attached = calls.flatMap(({ body }) => body.attachments ?? [])
  return attached.reduce((sum, { content }) => sum + content.length, 0) > largeBytes ? largeMails : ''
}

type Sendable = NewMessage & Exclude<ReturnType<Method['from']>, Problem>

/** Returns an inserted message as a claim that carries its content, so that the content need not be loaded again. */
const claimedOf = (
  { accountId, now }: Work,
  { type, to, fromEmail, fromName, replyTo, subject, content, headers, attachments, copy }: Sendable,
  { id, sealedKey }: Inserted,
  addressees: MessageContent['addressees'],
  relay: StoredRelay | null,
  worker: number,
  batch: string,
): ClaimedMessage => {
  const domain = fromEmail.slice(fromEmail.lastIndexOf('@') + 1)
  const none = { html: null, text: null, calendar: null, projectId: null, projectVersion: null, mergeData: null }
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
      domain,
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

/** Returns the recipients of copies. An address that is named twice gets one. */
const copiesOf = ({ to, cc = [], bcc = [] }: SendBody): { kind: 'cc' | 'bcc'; email: string }[] => {
  const kinds = new Map<string, 'cc' | 'bcc'>()
  for (const email of bcc) kinds.set(email, 'bcc')
  for (const email of cc) kinds.set(email, 'cc')
  kinds.delete(to)
  const order = [...new Set([...cc, ...bcc])].filter((email) => kinds.has(email))
  return order.map((email) => ({ kind: kinds.get(email)!, email }))
}

interface Copy {
  /** The message to the call's `to`. */
  first: Inserted
  kind: 'cc' | 'bcc'
  message: Sendable
  inserted: Inserted
}

/** Inserts the copies of inserted messages, in the same transaction. A message that is suppressed has none. */
const insertCopies = async (
  work: Work,
  firsts: readonly { body: SendBody; message: Sendable; inserted: Inserted | undefined }[],
  worker: number | null,
  batch: Batch,
): Promise<Copy[]> => {
  const copies = firsts.flatMap(({ body, message, inserted: first }) =>
    first?.status !== 'pending'
      ? []
      : copiesOf(body).map(({ kind, email }) => ({
          first,
          kind,
          message: { ...message, key: null, to: email, copy: { kind, of: first.id } },
        })),
  )
  if (copies.length === 0) return []
  const rows = await insertMessages(
    work,
    copies.map(({ message }) => message),
    worker,
    batch,
  )
  return copies.map((copy, i) => ({ ...copy, inserted: rows[i]! }))
}

/**
 * Reserves calls of one account in one unit of work. One statement reads relay and senders, a second one inserts the
 * messages, claimed by `worker` (null: unclaimed), a third one inserts copies (cc, bcc) if there are any, and the
 * quotas are counted last. Throws Problem `limited` if a quota has too little left for all calls; nothing is written
 * then.
 */
export const reserve = async (
  app: App,
  work: Work,
  calls: readonly Call[],
  worker: number | null,
): Promise<Reserved[]> => {
  const method = await readMethod(
    app,
    work,
    calls.map(({ body }) => body),
  )
  const drafts: (Sendable | Problem)[] = []
  for (const { body, key } of calls) {
    const from = method.from(body)
    const content =
      method.refusal ??
      (from instanceof Problem
        ? from
        : (scheduleProblem(body, work.now) ?? (await topicProblem(work, body)) ?? (await contentOf(app, work, body))))
    if (content instanceof Problem) drafts.push(content)
    else
      drafts.push({
        key,
        source: { kind: 'send', id: null },
        type: body.type,
        topicId: body.topicId,
        to: body.to,
        ...(from as Exclude<typeof from, Problem>),
        ...content,
        headers: body.headers,
        attachments: body.attachments?.length,
        ...(copiesOf(body).length > 0 && { copy: { kind: 'to', of: null } as const }),
        error: null,
        isPatient: body.scheduledAt !== undefined,
        ...(body.scheduledAt !== undefined && { scheduledAt: new Date(body.scheduledAt) }),
      })
  }
  const batch = { id: streamOf(calls), isHeld: false }
  const messages = drafts.filter((draft): draft is Sendable => !(draft instanceof Problem))
  const inserted = messages.length > 0 ? await insertMessages(work, messages, worker, batch) : []
  const byDraft = new Map(messages.map((message, i) => [message, inserted[i]]))
  for (const [i, draft] of drafts.entries()) {
    const row = draft instanceof Problem ? undefined : byDraft.get(draft)
    const { attachments = [] } = calls[i]!.body
    if (row?.status === 'pending') await insertAttachments(work, row.id, attachments)
  }
  const firsts = drafts.flatMap((message, i) =>
    message instanceof Problem ? [] : { body: calls[i]!.body, message, inserted: byDraft.get(message) },
  )
  const copies = await insertCopies(work, firsts, worker, batch)
  const byFirst = Map.groupBy(copies, ({ first }) => first)
  const results = drafts.map((draft): Reserved => {
    if (draft instanceof Problem) return { refusal: draft }
    const row = byDraft.get(draft)
    if (!row) return { taken: true }
    const all = byFirst.get(row) ?? []
    const sent = all.filter((copy) => copy.inserted.status === 'pending')
    const cc = sent.flatMap(({ kind, message }) => (kind === 'cc' ? message.to : []))
    const addressees = draft.copy ? { to: draft.to, cc } : null
    const claimed = (message: Sendable, of: Inserted): ClaimedMessage[] => {
      if (worker === null || draft.scheduledAt !== undefined) return []
      return [claimedOf(work, message, of, addressees, method.relay, worker, batch.id)]
    }
    return {
      inserted: row,
      claims: [...claimed(draft, row), ...sent.flatMap((copy) => claimed(copy.message, copy.inserted))],
      suppressed: all.flatMap((copy) => (copy.inserted.status === 'suppressed' ? copy.message.to : [])),
    }
  })
  const counted = results.filter((result, i) => 'inserted' in result && calls[i]!.countsCall)
  const rows = [...inserted, ...copies.map((copy) => copy.inserted)]
  const sends = rows.filter((row) => row?.status === 'pending').length
  const units = { ...(counted.length > 0 && { sendApiCalls: counted.length }), ...(sends > 0 && { sends }) }
  const refused = Object.keys(units).length > 0 ? await takeQuotas(work, units) : new Map()
  for (const quota of ['sendApiCalls', 'sends'] as const) if (refused.has(quota)) throw quotaProblem(quota, work.now)
  return results
}
