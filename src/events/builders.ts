import type { Contact, EventData, WebhookEvent } from './shapes.ts'
import type { EventType } from './types.ts'

/**
 * A builder for each type, used for real events and samples. Each names its properties, so that no other property of an input gets
 * into a payload, and the keys always have the order of the contract.
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
  /** `previous`: the old value of each changed field, `""` if it was not set. */
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

/** The input of a type's builder, which `emit` takes. */
export type EventInput<T extends EventType> = Parameters<(typeof builders)[T]>[0]

/** Returns the `data` of an event (docs/reference/events.md#payloads). */
export const buildData = <T extends EventType>(type: T, input: EventInput<T>): EventData<T> =>
  // A lookup by a generic key has a union of all builders as its type.
  (builders[type] as unknown as (input: EventInput<T>) => EventData<T>)(input)

/** Returns the delivery body, with its keys in the order of docs/reference/events.md#envelope. `createdAt` in epoch ms. */
export const envelope = <T extends EventType>({ id, type, createdAt, data }: WebhookEvent<T>): WebhookEvent<T> => ({
  id,
  type,
  createdAt,
  data,
})
