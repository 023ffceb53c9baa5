import { parse } from '../lib/parse.ts'
import { Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { requireSender } from '../senders/senders.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { findProject, projectNameOf } from '../studio/studio.ts'
import { lifecycleBindings } from './lifecycle.columns.ts'

/** The course or webinar that a lifecycle email is about. */
export interface Subject {
  kind: 'course' | 'webinar'
  id: string
}

/** Finds an object of the account by its id, for each kind, and keeps it from being deleted before the end of the unit of work. Throws Problem `not_found`. */
export type Bindable = Readonly<
  Record<Subject['kind'], (work: Work, id: string) => Promise<{ id: string; title: string }>>
>

/** The events that can be bound to a project (docs/reference/mail.md#lifecycle-emails). */
const eventsOf = {
  course: ['enrolled', 'completed', 'reminder'],
  webinar: ['registered', 'reminder', 'attended', 'missed'],
} as const satisfies Record<Subject['kind'], readonly string[]>

/** The events of courses and of webinars. */
export const lifecycleEvents: readonly string[] = [...new Set<string>(Object.values(eventsOf).flat())]

export type LifecycleEvent = (typeof eventsOf)[Subject['kind']][number]

const shown = {
  /** `course:<id>` or `webinar:<id>` */
  subject: 'text',
  ...types(lifecycleBindings, 'event', 'projectId', 'subjectLine', 'sender', 'updatedAt'),
  /** It is null if the project was deleted. */
  projectName: 'text?',
} as const
/** A binding as commands show it. */
export type BindingView = InEpochMs<RowOf<typeof shown>>

/** Parses `course:<id>` or `webinar:<id>`. Throws Problem `usage` for anything else. */
const parseSubject = (ref: string): Subject => {
  const [, kind, id] = /^(course|webinar):(.+)$/.exec(ref) ?? []
  if (!kind || !id) throw new Problem('usage', 'The subject must be course:<id> or webinar:<id>')
  return { kind: kind as Subject['kind'], id }
}

/** Returns the event. Throws Problem `usage` if a subject of this kind does not have it. */
const parseEvent = ({ kind }: Subject, event: string): LifecycleEvent => {
  const events: readonly string[] = eventsOf[kind]
  if (!events.includes(event)) throw new Problem('usage', `The event of a ${kind} must be one of ${events.join(', ')}`)
  return event as LifecycleEvent
}

const readBindings = statement(
  'list-bindings',
  { row: shown, parameters: { accountId: 'text' } },
  `select b.subject_kind || ':' || b.subject_id as subject, b.event, b.project_id as "projectId",
     ${projectNameOf('b.account_id', 'b.project_id')} as "projectName", b.subject_line as "subjectLine", b.sender, b.updated_at as "updatedAt"
   from lifecycle_bindings b where b.account_id = :accountId order by b.subject_kind, b.subject_id, b.event`,
)

/** Returns the account's bindings, ordered by subject, then by event. */
export const listBindings = async ({ sql, accountId }: Work): Promise<BindingView[]> => {
  const rows = await sql(readBindings, { accountId })
  return rows.map(inEpochMs)
}

const readBoundEvents = statement(
  'bound-events',
  { row: types(lifecycleBindings, 'event'), parameters: { accountId: 'text', kind: 'text', id: 'text' } },
  'select event from lifecycle_bindings where account_id = :accountId and subject_kind = :kind and subject_id = :id',
)

/** Returns the events of a course or webinar that are bound, also to a project that was deleted. */
export const boundEvents = async ({ sql, accountId }: Work, { kind, id }: Subject): Promise<Set<LifecycleEvent>> =>
  new Set((await sql(readBoundEvents, { accountId, kind, id })).map(({ event }) => event))

const entitiesOf = (work: Work) => work.em(import('./lifecycle.entities.ts'))

/**
 * Binds an event to a project (by id or name), in place of an earlier binding. It applies from the next event on. Throws Problem
 * `usage` for a malformed `ref` or event, `not_found` for a course, webinar, project or sender that the account does not have.
 */
export const setBinding = async (
  { bindable }: Pick<App, 'bindable'>,
  work: Work,
  ref: string,
  eventName: string,
  projectRef: string,
  letter: { subject?: string | undefined; sender?: string | undefined } = {},
): Promise<BindingView> => {
  const subject = parseSubject(ref)
  const event = parseEvent(subject, eventName)
  const { id } = await bindable[subject.kind](work, subject.id)
  const project = await findProject(work, projectRef)
  const subjectLine = letter.subject === undefined ? null : parse(text(500).min(1), letter.subject, 'subject')
  const sender = letter.sender === undefined ? null : await requireSender(work, letter.sender)
  const { accountId, now } = work
  const bound = { event, projectId: project.id, subjectLine, sender }
  const [em, { LifecycleBinding }] = await entitiesOf(work)
  await em.upsert(LifecycleBinding, {
    ...bound,
    accountId,
    subjectKind: subject.kind,
    subjectId: id,
    updatedAt: now,
  })
  return { subject: `${subject.kind}:${id}`, ...bound, projectName: project.name, updatedAt: now.getTime() }
}

const removeBindings = async (work: Work, { kind, id }: Subject, of: { event?: LifecycleEvent } = {}) => {
  const [em, { LifecycleBinding }] = await entitiesOf(work)
  return em.nativeDelete(LifecycleBinding, { accountId: work.accountId, subjectKind: kind, subjectId: id, ...of })
}

/** Deletes a binding, so that the plain email is sent again. Returns whether there was one. Throws Problem `usage` for a malformed `ref` or event. */
export const unsetBinding = async (work: Work, ref: string, eventName: string): Promise<boolean> => {
  const subject = parseSubject(ref)
  const event = parseEvent(subject, eventName)
  return (await removeBindings(work, subject, { event })) > 0
}

/** Deletes the bindings of a course or webinar that is being deleted. */
export const deleteBindings = async (work: Work, subject: Subject): Promise<void> => {
  await removeBindings(work, subject)
}
