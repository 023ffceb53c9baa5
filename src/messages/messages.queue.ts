import { Problem } from '../lib/problem.ts'
import { takeUpTo } from '../quotas/quotas.ts'
import type { App, Work } from '../store/work.ts'
import {
  type Batch,
  type Freeform,
  failInserted,
  type Inserted,
  insertMessages,
  type NewMessage,
  type Source,
} from './messages.insert.ts'
import { type FromChoice, readMethod } from './messages.method.ts'
import { quotaSentences } from './messages.reserve.ts'
import { fillSubject, type MessageType, subjectLine } from './messages.shapes.ts'

/** A mail that another feature causes, with content of its own or of a project. */
export interface QueuedMail extends FromChoice {
  /** Normalised. */
  to: string
  type: MessageType
  /** One mail of an account for a key, ever: `run:<run>:<step>`. null: no such rule. */
  key: string | null
  source: Source
  /** Merge tags in it are filled from the merge data; left out: the project's name. */
  subject?: string | undefined
  content: Freeform | { projectId: string; mergeData: Record<string, string> }
}

/** What became of it for now. `failed`: it stands in `svc sends list` with its reason. `known`: its key was used. */
export type Queued = Inserted | { status: 'known' }

type Drafted = Pick<NewMessage, 'subject' | 'content' | 'error'>

const contentOf = async (
  { projects }: Pick<App, 'projects'>,
  work: Work,
  { subject, content }: QueuedMail,
): Promise<Drafted> => {
  if ('html' in content) return { subject: subjectLine(subject ?? ''), content, error: null }
  const { projectId, mergeData } = content
  const project = (await projects?.loadProject(work, projectId)) ?? null
  const line = subjectLine(fillSubject(subject ?? project?.name ?? '', mergeData))
  if (!project) return { subject: line, content: null, error: 'There is no such project' }
  return { subject: line, content: { projectId, version: project.version, mergeData }, error: null }
}

/**
 * Puts mails into the outbox, in the unit of work of what causes them; the jobs send them, trying again while the relay is
 * away. Never throws for what speaks against a mail (no sender, quota used up, project gone): that is in its row, and
 * here. Counts the volume quota, so call it late in the unit of work. `batch`: they wait behind the account's other mails.
 */
export const queueMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly QueuedMail[],
  batch?: Batch,
): Promise<Queued[]> => {
  if (mails.length === 0) return []
  const method = await readMethod(app, work, mails)
  const messages: NewMessage[] = []
  for (const mail of mails) {
    const { key, source, type, to } = mail
    const drafted = await contentOf(app, work, mail)
    const from = method.from(mail)
    const refusal = method.refusal ?? (from instanceof Problem ? from : null)
    messages.push({
      ...{ key, source, type, to },
      ...(from instanceof Problem ? { fromEmail: null, fromName: null, replyTo: null } : from),
      ...drafted,
      error: refusal?.message ?? drafted.error,
      isPatient: true,
    })
  }
  const inserted = await insertMessages(work, messages, null, batch)
  const pending = inserted.flatMap((row) => (row?.status === 'pending' ? row : []))
  const granted = await takeUpTo(work, 'sends', pending.length)
  const refused = new Set(pending.slice(granted))
  if (refused.size > 0)
    await failInserted(
      work,
      [...refused].map(({ id }) => id),
      quotaSentences.sends,
    )
  return inserted.map((row) => {
    if (!row) return { status: 'known' }
    return refused.has(row) ? { ...row, status: 'failed', error: quotaSentences.sends } : row
  })
}

/** As `queueMails`, for one. */
export const queueMessage = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mail: QueuedMail,
): Promise<Queued> => (await queueMails(app, work, [mail]))[0]!
