import {
  type Queued,
  type QueuedMail,
  queueMails,
  queueManyMails,
  withdrawMailsOfSources,
} from '../messages/messages.ts'
import { findFrom, senderChoice } from '../senders/senders.ts'
import type { RowOf } from '../store/column-types.ts'
import { preparedStatement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import type { LifecycleEvent, Subject } from './lifecycle.bindings.ts'
import { lifecycleBindings } from './lifecycle.columns.ts'

/** An email that an event of a course or a webinar causes. */
export interface LifecycleMail {
  subject: Subject
  /** The event, which is part of the message's source. The events that can't be bound always have the plain email. */
  event: LifecycleEvent | 'waitlisted' | 'moved' | 'cancelled' | 'left'
  /** Normalised. */
  to: string
  /** Idempotency key: the account sends at most one message for it. It is null if there is none. */
  key: string | null
  /** It is not sent from this time on. */
  expiresAt?: Date | undefined
  /** The merge fields of a project's email (docs/reference/mail.md#lifecycle-emails). */
  mergeData: Record<string, string>
  /** The email without a binding, or if the bound project was deleted. */
  plain: { subject: string; html: string; text: string }
  /** Returns the calendar entry that the email carries, bound or not; the organiser is its sender. */
  entry?: ((organizer: { name: string; email: string }) => string) | undefined
}

const keyOf = ({ kind, id }: Subject, event: string): string => `${kind} ${id} ${event}`

const content = types(lifecycleBindings, 'projectId', 'subjectLine', 'sender')
/** What a binding says about its emails. */
type Bound = RowOf<typeof content>

const findBindings = preparedStatement(
  'lifecycle-bindings-of',
  {
    row: { kind: lifecycleBindings.columns.subjectKind, id: 'text', event: 'text', ...content },
    parameters: { accountId: 'text', kinds: '_text', ids: '_text', events: '_text' },
  },
  `select distinct b.subject_kind as kind, b.subject_id as id, b.event, b.project_id as "projectId",
     b.subject_line as "subjectLine", b.sender
   from unnest(:kinds::text[], :ids::text[], :events::text[]) as m(kind, id, event)
   join lifecycle_bindings b
     on b.account_id = :accountId and b.subject_kind = m.kind and b.subject_id = m.id and b.event = m.event`,
)

/** Returns the bindings to projects that exist, by subject and event. */
const boundProjects = async (
  { projects }: Pick<App, 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<Map<string, Bound>> => {
  if (!projects || mails.length === 0) return new Map()
  const rows = await work.sql(findBindings, {
    accountId: work.accountId,
    kinds: mails.map(({ subject }) => subject.kind),
    ids: mails.map(({ subject }) => subject.id),
    events: mails.map(({ event }) => event),
  })
  const bound = new Map<string, Bound>()
  for (const { kind, id, event, ...binding } of rows) {
    if (await projects.loadProject(work, binding.projectId)) bound.set(keyOf({ kind, id }, event), binding)
  }
  return bound
}

const sourceOf = ({ id }: Subject, event: LifecycleMail['event']): string => `${id}:${event}`

const draftsOf = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<QueuedMail[]> => {
  const bound = await boundProjects(app, work, mails)
  const found = new Map<string, Awaited<ReturnType<typeof findFrom>>>()
  for (const { subject, event, entry } of mails) {
    const sender = bound.get(keyOf(subject, event))?.sender ?? ''
    if ((!entry && !sender) || found.has(sender)) continue
    found.set(sender, await findFrom(app, work, [...(sender ? [senderChoice(sender)] : []), {}]))
  }
  return mails.map(({ subject, event, to, key, expiresAt, mergeData, plain, entry }): QueuedMail => {
    const binding = bound.get(keyOf(subject, event))
    const { subject: title, ...content } = plain
    const sender = found.get(binding?.sender ?? '')
    const calendar =
      entry && sender ? { calendar: entry({ name: sender.from.fromName, email: sender.from.fromEmail }) } : {}
    return {
      to,
      type: 'transactional',
      key,
      expiresAt,
      source: { kind: 'lifecycle', id: sourceOf(subject, event) },
      ...sender?.choice,
      ...(binding === undefined
        ? { subject: title, content: { ...content, ...calendar } }
        : {
            subject: binding.subjectLine ?? undefined,
            content: { projectId: binding.projectId, mergeData, ...calendar },
          }),
    }
  })
}

/**
 * Puts lifecycle emails into the outbox, in the unit of work of their cause: from the project that the event is bound to, or the
 * plain email if there is no binding or the account does not have the project; from the default sender if the account no longer has
 * that of the binding (docs/reference/mail.md#lifecycle-emails).
 * A message that can't be sent throws nothing, as with `queueMails`. Counts the quota of sends, so call it late in the unit of work.
 */
export const queueLifecycleMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<Queued[]> => queueMails(app, work, await draftsOf(app, work, mails))

/** Puts lifecycle emails into the outbox as `queueLifecycleMails`, with the quota as `queueManyMails`. */
export const queueManyLifecycleMails = async (
  app: Pick<App, 'config' | 'projects'>,
  work: Work,
  mails: readonly LifecycleMail[],
): Promise<void> => queueManyMails(app, work, await draftsOf(app, work, mails))

/**
 * Withdraws the unsent emails of these events of a course or a webinar, as `withdrawMails`. With `to`, withdraws only those to this
 * address. Returns the recipients. Messages that a connection had taken may still arrive (`isTaken`).
 */
export const withdrawLifecycleMails = async (
  work: Work,
  subject: Subject,
  events: readonly LifecycleMail['event'][],
  error: string,
  to?: string,
): Promise<{ event: LifecycleMail['event']; email: string; isTaken: boolean }[]> => {
  const eventOf = new Map(events.map((event) => [sourceOf(subject, event), event]))
  const withdrawn = await withdrawMailsOfSources(work, [...eventOf.keys()], error, to)
  return withdrawn.map(({ sourceId, email, isTaken }) => ({ event: eventOf.get(sourceId)!, email, isTaken }))
}
