import { z } from 'zod'
import { type EventType, eventTypes } from './types.ts'

/*
 * The payloads of all events, exactly as docs/reference/events.md#payloads lists them. Strict, so that no property is added by
 * accident. Contact and Deal are defined here because both the API and events show them (docs/reference/api.md#resources).
 */

export const EpochMs = z.int().meta({ description: 'epoch ms' })
/** Not `z.email()`: malformed addresses are stored too, with their verification. */
const Email = z.string().meta({ format: 'email' })
const Named = z.strictObject({ id: z.string(), name: z.string() })

const VerificationShape = z.strictObject({
  status: z.enum(['valid', 'risky', 'invalid', 'unknown']),
  reasons: z.array(z.string()),
  checkedAt: EpochMs,
})

export const ContactShape = z
  .strictObject({
    listId: z.string(),
    listName: z.string(),
    rowId: z.string(),
    email: Email,
    fields: z.record(z.string(), z.string()),
    status: z.enum(['active', 'pending']),
    verification: VerificationShape.nullable(),
    createdAt: EpochMs,
    updatedAt: EpochMs,
  })
  .meta({ id: 'Contact' })
export type Contact = z.infer<typeof ContactShape>

export const DealShape = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    value: z.number(),
    currency: z.string(),
    pipelineId: z.string(),
    stageId: z.string(),
    stage: z.string().nullable(),
    status: z.enum(['open', 'won', 'lost']),
    source: z.enum(['manual', 'journey', 'booking', 'checkout', 'proposal', 'api']),
    listId: z.string(),
    rowId: z.string(),
    email: Email,
  })
  .meta({ id: 'Deal' })
export type Deal = z.infer<typeof DealShape>

const FormSource = z.enum(['email-form', 'signup-form'])
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

const Interaction = z.strictObject({
  id: z.string(),
  kind: z.enum(['open', 'click', 'vote', 'rating', 'quiz', 'form', 'booking', 'purchase']),
  blockId: z.string().nullable(),
  value: z.union([Scalar, z.array(Scalar), z.record(z.string(), Scalar)]),
  at: EpochMs,
})

const Booking = z.strictObject({
  id: z.string(),
  title: z.string(),
  startAt: EpochMs,
  endAt: EpochMs,
  timezone: z.string(),
  attendee: z.strictObject({ name: z.string(), email: Email }),
})

const Purchase = z.strictObject({
  id: z.string(),
  amount: z.number(),
  currency: z.string(),
  items: z.array(z.strictObject({ name: z.string(), quantity: z.int(), amount: z.number() })),
  paidAt: EpochMs,
})

/** The shape of `data` for each event type. */
export const dataShapes = {
  'interaction.received': z.strictObject({
    interaction: Interaction,
    project: Named,
    recipient: z.strictObject({ email: Email, rowId: z.string().nullable() }),
    source: z.strictObject({ kind: z.enum(['send', 'journey', 'lifecycle']), id: z.string() }),
  }),
  'form.submitted': z.strictObject({
    source: FormSource,
    form: Named,
    fields: z.record(z.string(), z.string()),
    contact: ContactShape.nullable(),
    submittedAt: EpochMs,
  }),
  'contact.created': z.strictObject({ contact: ContactShape }),
  'contact.updated': z.strictObject({
    contact: ContactShape,
    changed: z.array(z.string()),
    previous: z.record(z.string(), z.string()),
  }),
  'lead.hot': z.strictObject({
    contact: ContactShape,
    score: z.number(),
    previousScore: z.number(),
    threshold: z.number(),
  }),
  'lead.new': z.strictObject({ contact: ContactShape, source: FormSource, form: Named }),
  'booking.created': z.strictObject({ booking: Booking }),
  'booking.cancelled': z.strictObject({
    booking: Booking,
    cancelledBy: z.enum(['attendee', 'host']),
    reason: z.string().nullable(),
  }),
  'deal.created': z.strictObject({ deal: DealShape }),
  'deal.stage_changed': z.strictObject({ deal: DealShape, fromStageId: z.string() }),
  'purchase.completed': z.strictObject({ purchase: Purchase, project: Named, contact: ContactShape.nullable() }),
  'journey.completed': z.strictObject({
    journey: Named,
    runId: z.string(),
    contact: ContactShape,
    enteredAt: EpochMs,
    completedAt: EpochMs,
  }),
} satisfies Record<EventType, z.ZodObject>

/** An event type. The error contains the given name, because one unknown name refuses the whole request. */
export const EventName = z.enum(eventTypes, {
  error: ({ input }) =>
    typeof input === 'string' ? `is not an event type: ${JSON.stringify(input.slice(0, 40))}` : undefined,
})

/** The `data` of one event type. */
export type EventData<T extends EventType = EventType> = z.infer<(typeof dataShapes)[T]>

/** One delivery body (docs/reference/api.md#webhookevent). Only test sends have `test` in `data`. */
export interface WebhookEvent<T extends EventType = EventType> {
  id: string
  type: T
  createdAt: number
  data: EventData<T> & { test?: true }
}

/** Returns the schema of a whole event of a type. */
export const eventShape = <T extends EventType>(type: T) =>
  z.strictObject({ id: z.string(), type: z.literal(type), createdAt: EpochMs, data: dataShapes[type] })

const [first, ...others] = eventTypes

/** A whole event; `type` determines the shape of `data`. The answer of GET /events/sample. */
export const WebhookEventShape = z.discriminatedUnion('type', [eventShape(first), ...others.map((t) => eventShape(t))])
