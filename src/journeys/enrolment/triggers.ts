import type { EmittedEvent, EventType } from '../../events/events.ts'
import type { EventData } from '../../events/shapes.ts'
import type { Trigger, TriggerKind } from '../definition/definition.schema.ts'

/** The person that an event is about. Without `listId`, the most recently updated list that has the address applies. */
export interface Subject {
  email: string
  listId?: string
  rowId?: string
}

/** The kind of trigger that events of a type can fire. */
export const triggerKindOf: { [T in EventType]?: TriggerKind } = {
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

/** Returns the person that an event is about, or null if it names none. */
export const subjectOf = (event: EmittedEvent): Subject | null => {
  const { contact, deal, recipient, booking } = dataOf(event)
  const known = contact ?? deal
  if (known) return { email: known.email, listId: known.listId, rowId: known.rowId }
  if (recipient) return { email: recipient.email, ...(recipient.rowId && { rowId: recipient.rowId }) }
  return booking ? { email: booking.attendee.email } : null
}

const refersTo = (ref: string | undefined, named: { id: string; name: string } | undefined): boolean =>
  ref === undefined || ref === named?.id || ref === named?.name

const isUnboundOr = (bound: string | undefined, value: string | null | undefined): boolean =>
  bound === undefined || bound === value

/** Returns whether an event fires a trigger. The trigger is of the kind that belongs to the event's type (`triggerKindOf`). */
export const matchesTrigger = (trigger: Trigger, event: EmittedEvent): boolean => {
  const { contact, deal, fromStageId, form, project, interaction } = dataOf(event)
  switch (trigger.kind) {
    case 'list-added':
      return contact?.listId === trigger.list && contact.status === 'active'
    case 'form-submitted':
      return refersTo(trigger.form, form)
    case 'deal-stage-changed':
      return (
        isUnboundOr(trigger.pipeline, deal?.pipelineId) &&
        isUnboundOr(trigger.stage, deal?.stageId) &&
        isUnboundOr(trigger.from, fromStageId)
      )
    case 'interaction':
      return (
        refersTo(trigger.project, project) &&
        isUnboundOr(trigger.block, interaction?.blockId) &&
        isUnboundOr(trigger.interaction, interaction?.kind)
      )
    default:
      return true
  }
}

/** Returns the keys (`triggerKey`) of triggers that the event can fire. */
export const triggerKeysOf = (event: EmittedEvent): string[] => {
  const { contact, deal, form, project } = dataOf(event)
  const named = form ?? project
  const keys = deal ? [deal.stageId] : named ? [named.id, named.name] : [contact?.listId]
  return keys.flatMap((key) => key ?? [])
}

/** Returns the context of a run that the event starts. */
export const contextOf = (event: EmittedEvent): Record<string, unknown> => {
  const { deal } = dataOf(event)
  return { event: { id: event.id, type: event.type }, ...(deal && { dealId: deal.id }) }
}

/** Returns the exit rules that the event meets (docs/reference/journeys.md#exit-rules). */
export const exitRulesOf = (event: EmittedEvent): string[] => {
  const { deal } = dataOf(event)
  const isSettled = deal !== undefined && deal.status !== 'open'
  return isSettled ? [`deal-${deal.status}`, event.type] : [event.type]
}
