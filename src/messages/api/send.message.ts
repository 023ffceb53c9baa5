import { invalid, notFound, Problem } from '../../lib/problem.ts'
import type { From, Method } from '../../senders/senders.ts'
import type { App, Work } from '../../store/work.ts'
import { hasTopicId } from '../../suppressions/suppressions.ts'
import { fillSubject, subjectLine } from '../messages.shapes.ts'
import type { NewMessage } from '../outbox/insert.ts'
import type { SendBody } from './send.shapes.ts'

/** One call of POST /send, or of `svc send`, which does not count against the quota of calls. */
export interface Call {
  body: SendBody
  /** The stored idempotency key. It is null if there is none. */
  key: string | null
  countsCall: boolean
}

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

/** Returns the recipients of copies. An address that is named more than once gets one message. */
export const copiesOf = ({ to, cc = [], bcc = [] }: SendBody): { kind: 'cc' | 'bcc'; email: string }[] => {
  const emails = new Set([...cc, ...bcc])
  emails.delete(to)
  return [...emails].map((email) => ({ kind: cc.includes(email) ? 'cc' : 'bcc', email }))
}

/** A message that the account may send. */
export type Sendable = NewMessage & From

/** Returns the message of a call to its `to`, or the Problem why the account can't send it. */
export const messageOf = async (
  app: App,
  work: Work,
  method: Method,
  { body, key }: Call,
): Promise<Sendable | Problem> => {
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
