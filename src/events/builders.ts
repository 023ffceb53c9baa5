import type { Contact, EventData, WebhookEvent } from './shapes.ts'
import type { EventType } from './types.ts'

/**
 * One builder for each type, for real events and samples alike. Each names what it takes, so that a caller's wider
 * object leaks nothing into a payload, and keys always stand in the order of the contract.
 */
const builders = {
  'interaction.received': ({ interaction, project, recipient, source }: EventData<'interaction.received'>) => ({
    interaction,
    project,
    recipient,
    source,
  }),
  'form.submitted': ({ source, form, fields, contact, submittedAt }: EventData<'form.submitted'>) => ({
    source,
    form,
    fields,
    contact,
    submittedAt,
  }),
  'contact.created': ({ contact }: EventData<'contact.created'>) => ({ contact }),
  /** `previous`: the old value of each field that changed, `""` where it was not set. */
  'contact.updated': ({ contact, previous }: { contact: Contact; previous: Record<string, string> }) => ({
    contact,
    changed: Object.keys(previous),
    previous,
  }),
  'lead.hot': ({ contact, score, previousScore, threshold }: EventData<'lead.hot'>) => ({
    contact,
    score,
    previousScore,
    threshold,
  }),
  'lead.new': ({ contact, source, form }: EventData<'lead.new'>) => ({ contact, source, form }),
  'booking.created': ({ booking }: EventData<'booking.created'>) => ({ booking }),
  'booking.cancelled': ({ booking, cancelledBy, reason }: EventData<'booking.cancelled'>) => ({
    booking,
    cancelledBy,
    reason,
  }),
  'deal.created': ({ deal }: EventData<'deal.created'>) => ({ deal }),
  'deal.stage_changed': ({ deal, fromStageId }: EventData<'deal.stage_changed'>) => ({ deal, fromStageId }),
  'purchase.completed': ({ purchase, project, contact }: EventData<'purchase.completed'>) => ({
    purchase,
    project,
    contact,
  }),
  'journey.completed': ({ journey, runId, contact, enteredAt, completedAt }: EventData<'journey.completed'>) => ({
    journey,
    runId,
    contact,
    enteredAt,
    completedAt,
  }),
} satisfies { [T in EventType]: (input: never) => EventData<T> }

/** What the builder of a type takes: what `emit` is called with. */
export type EventInput<T extends EventType> = Parameters<(typeof builders)[T]>[0]

/** The `data` of an event, from what happened (decisions.md, Webhooks and events). */
export const buildData = <T extends EventType>(type: T, input: EventInput<T>): EventData<T> =>
  (builders[type] as unknown as (input: EventInput<T>) => EventData<T>)(input)

/** The delivery body, its keys in the order of api.md section 6. `createdAt` in epoch ms. */
export const envelope = <T extends EventType>({ id, type, createdAt, data }: WebhookEvent<T>): WebhookEvent<T> => ({
  id,
  type,
  createdAt,
  data,
})
