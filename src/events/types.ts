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

/** When each event fires, as docs/reference/events.md#event-types says. */
export const firesWhen: Readonly<Record<EventType, string>> = {
  'interaction.received':
    'a recipient opens, clicks, votes, rates, answers a quiz or a form, books or pays in an email',
  'form.submitted': 'somebody submits a signup form (`source` `signup-form`) or a form inside an email (`email-form`)',
  'contact.created': 'a contact is added to a list',
  'contact.updated': "a contact's fields change; identical data fires nothing",
  'lead.hot': 'a lead score reaches the threshold from below',
  'lead.new': 'a new lead arrives by a signup form or by a form in an email',
  'booking.created': 'a time is booked',
  'booking.cancelled': 'a booking is cancelled; moving one fires neither booking event',
  'deal.created': 'a deal is created, whatever its origin',
  'deal.stage_changed': 'a deal moves to another stage, won and lost included',
  'purchase.completed': 'a recipient pays a checkout block',
  'journey.completed': 'a contact reaches the end of a journey; an early exit does not count',
}

export type EventType = (typeof eventTypes)[number]

/** The envelope of an event, as it is delivered (docs/reference/events.md#envelope). */
export interface EmittedEvent {
  id: string
  type: string
  /** epoch ms */
  createdAt: number
  data: unknown
}
