/** The subscribable event types, exactly as docs/reference/events.md#event-types lists them. */
export const eventTypes = [
  'interaction.received',
  'form.submitted',
  'contact.created',
  'contact.updated',
  'lead.hot',
  'lead.new',
  'booking.created',
  'booking.cancelled',
  'deal.created',
  'deal.stage_changed',
  'purchase.completed',
  'journey.completed',
] as const

export type EventType = (typeof eventTypes)[number]

/** The envelope of an event, as it is delivered (docs/reference/events.md#envelope). */
export interface EmittedEvent {
  id: string
  type: string
  /** epoch ms */
  createdAt: number
  data: unknown
}
