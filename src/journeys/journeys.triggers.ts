import type { EventData } from '../events/shapes.ts'
import type { EventType } from '../events/types.ts'
import type { EmittedEvent } from '../store/work.ts'
import type { Trigger, TriggerKind } from './journeys.definition.ts'

/** The person that an event is about. Without a list: whichever list has the address, the most recently updated first. */
export interface Subject {
  email: string
  listId?: string
  rowId?: string
}

/** Which triggers an event of the type may pull. */
export const triggersOf: { [T in EventType]?: TriggerKind } = {
  'contact.created': 'list-added',
  'form.submitted': 'form-submitted',
  'deal.created': 'deal-stage-changed',
  'deal.stage_changed': 'deal-stage-changed',
  'interaction.received': 'interaction',
  'lead.hot': 'lead-hot',
  'purchase.completed': 'purchase-completed',
}

type Data = {
  contact?: { email: string; listId: string; rowId: string; status: string } | null
  deal?: EventData<'deal.created'>['deal']
  recipient?: EventData<'interaction.received'>['recipient']
  booking?: EventData<'booking.created'>['booking']
  fromStageId?: string
} & Partial<Pick<EventData<'form.submitted'>, 'form'>> &
  Partial<Pick<EventData<'interaction.received'>, 'interaction' | 'project'>>

const dataOf = ({ data }: EmittedEvent) => data as Data

/** Whom the event is about; null where it is about nobody whom the account knows. */
export const subjectOf = (event: EmittedEvent): Subject | null => {
  const { contact, deal, recipient, booking } = dataOf(event)
  const known = contact ?? deal
  if (known) return { email: known.email, listId: known.listId, rowId: known.rowId }
  if (recipient) return { email: recipient.email, ...(recipient.rowId && { rowId: recipient.rowId }) }
  return booking ? { email: booking.attendee.email } : null
}

const isOne = (ref: string | undefined, named: { id: string; name: string } | undefined): boolean =>
  ref === undefined || ref === named?.id || ref === named?.name

const isMet = (bound: string | undefined, value: string | null | undefined): boolean =>
  bound === undefined || bound === value

/** Whether the event, of a type that may, pulls the trigger. */
export const isPulled = (trigger: Trigger, event: EmittedEvent): boolean => {
  const { contact, deal, fromStageId, form, project, interaction } = dataOf(event)
  switch (trigger.kind) {
    case 'list-added':
      return contact?.listId === trigger.list && contact.status === 'active'
    case 'form-submitted':
      return isOne(trigger.form, form)
    case 'deal-stage-changed':
      return (
        isMet(trigger.pipeline, deal?.pipelineId) &&
        isMet(trigger.stage, deal?.stageId) &&
        isMet(trigger.from, fromStageId)
      )
    case 'interaction':
      return (
        isOne(trigger.project, project) &&
        isMet(trigger.block, interaction?.blockId) &&
        isMet(trigger.interaction, interaction?.kind)
      )
    default:
      return true
  }
}

/** What a trigger may be bound to (`triggerKey`) to be pulled by the event. */
export const keysOf = (event: EmittedEvent): string[] => {
  const { contact, deal, form, project } = dataOf(event)
  const named = form ?? project
  const keys = deal ? [deal.stageId] : named ? [named.id, named.name] : [contact?.listId]
  return keys.flatMap((key) => key ?? [])
}

/** What the run keeps of the event that starts it. */
export const contextOf = (event: EmittedEvent): Record<string, unknown> => {
  const { deal } = dataOf(event)
  return { event: { id: event.id, type: event.type }, ...(deal && { dealId: deal.id }) }
}

/** The exit rules that the event meets (decisions.md, Journeys). */
export const exitRulesOf = (event: EmittedEvent): string[] => {
  const { deal } = dataOf(event)
  const isSettled = deal !== undefined && deal.status !== 'open'
  return isSettled ? [`deal-${deal.status}`, event.type] : [event.type]
}

const at = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (node, key) =>
        typeof node === 'object' && node !== null && Object.hasOwn(node, key)
          ? (node as Record<string, unknown>)[key]
          : undefined,
      value,
    )

/** Whether the event holds what a `wait-for` names: paths within its data, or within the whole event (`data.deal.id`). */
export const holds = (event: EmittedEvent, where: Readonly<Record<string, unknown>> | null): boolean =>
  Object.entries(where ?? {}).every(
    ([path, value]) => at(path.startsWith('data.') ? event : event.data, path) === value,
  )
