import { type Queued, type QueuedMail, queueMails } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import type { LifecycleEvent, Subject } from './lifecycle.bindings.ts'
import type { PlainMail } from './lifecycle.mails.ts'

/** A mail that what happened to a course or a webinar causes. */
export interface LifecycleMail {
  subject: Subject
  /** What it may be bound by; null: it is always plain, as the notice of a waitlist is. */
  event: LifecycleEvent | null
  /** Normalised. */
  to: string
  /** One mail of the account for a key, ever; null: no such rule. */
  key: string | null
  /** The merge fields of a bound mail (decisions.md, Webinars and courses). */
  mergeData: Record<string, string>
  /** What goes where nothing is bound, or to a project that is not there. */
  plain: PlainMail
}

const keyOf = ({ kind, id }: Subject, event: string): string => `${kind} ${id} ${event}`

/** The projects that the mails are bound to, as far as they are there. */
const boundProjects = async (
  { projects }: Pick<App, 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<Map<string, string>> => {
  const bindable = mails.filter(({ event }) => event !== null)
  if (!projects || bindable.length === 0) return new Map()
  const rows = await work.sql<Subject & { event: string; projectId: string }>(
    `select distinct b.subject_kind as kind, b.subject_id as id, b.event, b.project_id as "projectId"
     from unnest($2::text[], $3::text[], $4::text[]) as m(kind, id, event)
     join lifecycle_bindings b
       on b.account_id = $1 and b.subject_kind = m.kind and b.subject_id = m.id and b.event = m.event`,
    [
      work.accountId,
      bindable.map(({ subject }) => subject.kind),
      bindable.map(({ subject }) => subject.id),
      bindable.map(({ event }) => event),
    ],
    'lifecycle-bindings-of',
  )
  const bound = new Map<string, string>()
  for (const { kind, id, event, projectId } of rows) {
    if (await projects.loadProject(work, projectId)) bound.set(keyOf({ kind, id }, event), projectId)
  }
  return bound
}

/**
 * Puts lifecycle mails into the outbox, in the unit of work of what causes them: of the project that their event is bound to,
 * else, also where that project is deleted or another account's, the plain ones (api.md section 4, Lifecycle email bindings).
 * Never throws for what speaks against a mail, as `queueMails`. Counts the volume quota, so call it late in the unit of work.
 */
export const queueLifecycleMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<Queued[]> => {
  const bound = await boundProjects(app, work, mails)
  const queued = mails.map(({ subject, event, to, key, mergeData, plain }): QueuedMail => {
    const projectId = event === null ? undefined : bound.get(keyOf(subject, event))
    return {
      to,
      type: 'transactional',
      key,
      source: { kind: 'lifecycle', id: subject.id },
      ...(projectId === undefined
        ? { subject: plain.subject, content: { html: plain.html, text: plain.text } }
        : { content: { projectId, mergeData } }),
    }
  })
  return queueMails(app, work, queued)
}
