import { takeQuotaUpTo } from '../../accounts/accounts.ts'
import { Problem } from '../../lib/problem.ts'
import { type FromChoice, readMethod } from '../../senders/senders.ts'
import type { App, Work } from '../../store/work.ts'
import { stateKey } from '../../store/work-state.ts'
import { fillSubject, type MessageType, subjectLine } from '../messages.shapes.ts'
import {
  type Batch,
  type Freeform,
  failInserted,
  type Inserted,
  insertMessages,
  type NewMessage,
  type Source,
} from './insert.ts'

/** The error of a message that the monthly quota has no unit for. */
export const sendQuotaUsedUp = 'Monthly send quota for your plan exceeded'

/** A message that another feature sends, with freeform content or content of a project. */
export interface QueuedMail extends FromChoice {
  /** Normalised. */
  to: string
  type: MessageType
  /** The topic of marketing email. */
  topicId?: string | undefined
  /** Idempotency key, such as `run:<run>:<step>`: an account sends at most one message for a key. It is null if there is none. */
  key: string | null
  source: Source
  /** If it is still unsent at this time, it fails, and its volume is returned. */
  expiresAt?: Date | undefined
  /** Its merge tags are filled from the merge data. The default is the project's name. */
  subject?: string | undefined
  /** The default of `version` is the newest one of the project. With `subject`, that version is sent even if the project was deleted. */
  content:
    | Freeform
    | { projectId: string; version?: number | undefined; mergeData: Record<string, string>; calendar?: string }
}

/**
 * The state of a message after it was queued. If it is `failed`, `svc sends list` shows its error. It is `known` if its key was
 * used before.
 */
export type Queued = Inserted | { status: 'known' }

type Drafted = Pick<NewMessage, 'subject' | 'content' | 'error'>

const contentOf = async (
  { projects }: Pick<App, 'projects'>,
  work: Work,
  { subject, content }: QueuedMail,
): Promise<Drafted> => {
  if ('html' in content) return { subject: subjectLine(subject ?? ''), content, error: null }
  const { projectId, version, mergeData, calendar } = content
  const more = { mergeData, ...(calendar && { calendar }) }
  if (version !== undefined && subject !== undefined)
    return {
      subject: subjectLine(fillSubject(subject, mergeData)),
      content: { projectId, version, ...more },
      error: null,
    }
  const project = (await projects?.loadProject(work, projectId)) ?? null
  const line = subjectLine(fillSubject(subject ?? project?.name ?? '', mergeData))
  if (!project) return { subject: line, content: null, error: 'There is no such project' }
  return {
    subject: line,
    content: { projectId, version: version ?? project.version, ...more },
    error: null,
  }
}

const insertQueued = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly QueuedMail[],
  batch?: Batch,
): Promise<(Inserted | undefined)[]> => {
  if (mails.length === 0) return []
  const method = await readMethod(app, work, mails)
  const messages: NewMessage[] = []
  for (const mail of mails) {
    const { key, source, type, topicId, to, expiresAt } = mail
    const drafted = await contentOf(app, work, mail)
    const from = method.from(mail)
    const refusal = method.refusal ?? (from instanceof Problem ? from : null)
    messages.push({
      key,
      source,
      type,
      topicId,
      to,
      ...(from instanceof Problem ? { fromEmail: null, fromName: null, replyTo: null } : from),
      ...drafted,
      error: refusal?.message ?? drafted.error,
      isPatient: true,
      expiresAt,
    })
  }
  return insertMessages(work, messages, null, batch)
}

const pendingIds = (inserted: readonly (Inserted | undefined)[]): string[] =>
  inserted.flatMap((row) => (row?.status === 'pending' ? row.id : []))

/** Takes the quota for inserted messages, in their order. Messages beyond the quota fail; returns their ids. */
const takeSends = async (work: Work, ids: readonly string[]): Promise<Set<string>> => {
  const refused = ids.slice(await takeQuotaUpTo(work, 'sends', ids.length))
  if (refused.length > 0) await failInserted(work, refused, sendQuotaUsedUp)
  return new Set(refused)
}

/**
 * Puts messages into the outbox, in the unit of work of their cause. The mail jobs send them, and retry while the relay is
 * unavailable. A message that can't be sent (no sender, quota used up, project deleted) throws nothing: its row and its result say
 * why. Counts the quota of sends, so call it late in the unit of work. The messages of a `batch` wait behind the account's others.
 * Returns the results in the order of `mails`.
 */
export const queueMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly QueuedMail[],
  batch?: Batch,
): Promise<Queued[]> => {
  const inserted = await insertQueued(app, work, mails, batch)
  const refused = await takeSends(work, pendingIds(inserted))
  return inserted.map((row) => {
    if (!row) return { status: 'known' }
    return refused.has(row.id) ? { ...row, status: 'failed', error: sendQuotaUsedUp } : row
  })
}

const untaken = stateKey((work) => {
  const ids: string[] = []
  work.last(async () => {
    await takeSends(work, ids)
  })
  return ids
})

/**
 * Puts messages into the outbox as `queueMails`, for a unit of work that queues many with several calls: it takes the quota of sends
 * once, before the commit, so that other senders of the account don't wait for all of them.
 */
export const queueManyMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly QueuedMail[],
): Promise<void> => {
  const ids = pendingIds(await insertQueued(app, work, mails))
  if (ids.length > 0) work.state(untaken).push(...ids)
}

/** Calls `queueMails` for one message. */
export const queueMessage = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mail: QueuedMail,
): Promise<Queued> => (await queueMails(app, work, [mail]))[0]!
