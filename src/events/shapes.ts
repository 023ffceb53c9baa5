import { z } from 'zod'
import { epochMs } from '../lib/common-shapes.ts'
import { type EventType, eventTypes, firesWhen } from './types.ts'

/*
 * The payloads of all events, exactly as docs/reference/events.md#payloads lists them. Strict, so that no property is added by
 * accident. Contact and Deal are defined here because both the API and events show them (docs/reference/api.md#resources).
 */

/** Not `z.email()`: malformed addresses are stored too, with their verification. */
const email = (description: string) => z.string().meta({ format: 'email', description })
const named = (what: string) =>
  z.strictObject({ id: z.string().describe(`Id of the ${what}`), name: z.string().describe(`Name of the ${what}`) })

const VerificationShape = z.strictObject({
  status: z.enum(['valid', 'risky', 'invalid', 'unknown']).describe('The verdict: `invalid` addresses get no email'),
  reasons: z
    .array(z.string())
    .describe('Every reason that applies, such as `no_mx` or `disposable`; empty if the address is valid'),
  checkedAt: epochMs('When the address was checked'),
})

export const ContactShape = z
  .strictObject({
    listId: z.string().describe('Id of the list'),
    listName: z.string().describe('Name of the list'),
    rowId: z.string().describe('Id of the address in the account, the same in every list'),
    email: email('The address, in lower case'),
    fields: z.record(z.string(), z.string()).describe('Column name to value, at most 40 columns'),
    status: z.enum(['active', 'pending']).describe('`pending` until the person confirms a signup with double opt-in'),
    verification: VerificationShape.nullable().describe(
      'What the server knows about the address; null until it is checked',
    ),
    createdAt: epochMs('When the address was added to the list'),
    updatedAt: epochMs('When the contact last changed'),
  })
  .meta({ id: 'Contact', description: 'An address in one list' })
export type Contact = z.infer<typeof ContactShape>

export const DealShape = z
  .strictObject({
    id: z.string().describe('Id of the deal'),
    title: z.string().describe('At most 200 characters'),
    value: z.number().describe('The amount in units of the currency, with at most two decimals'),
    currency: z.string().describe('Three letters, upper case, such as `USD`'),
    pipelineId: z.string().describe('Id of its pipeline'),
    stageId: z.string().describe('Id of its stage'),
    stage: z.string().nullable().describe('Name of its stage'),
    status: z.enum(['open', 'won', 'lost']).describe('The kind of its stage'),
    source: z.enum(['manual', 'journey', 'booking', 'checkout', 'proposal', 'api']).describe('What created it'),
    listId: z.string().describe('Id of the list of its contact'),
    rowId: z.string().describe('Id of the address of its contact'),
    email: email('The address of its contact'),
  })
  .meta({ id: 'Deal', description: 'A deal with a contact, in a stage of a pipeline' })
export type Deal = z.infer<typeof DealShape>

const FormSource = z.enum(['email-form', 'signup-form']).describe('Whether the form is in an email or a signup form')
const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])

const Interaction = z.strictObject({
  id: z.string().describe('Id of the interaction'),
  kind: z
    .enum(['open', 'click', 'vote', 'rating', 'quiz', 'form', 'booking', 'purchase'])
    .describe('What the recipient did'),
  blockId: z
    .string()
    .nullable()
    .describe('Id of the block in the project; null for what concerns no block, such as an open'),
  value: z
    .union([Scalar, z.array(Scalar), z.record(z.string(), Scalar)])
    .describe('The answer: a scalar, the choices, or the fields of a form by name. Its type depends on `kind`'),
  at: epochMs('When it happened'),
})

const Booking = z.strictObject({
  id: z.string().describe('Id of the booking'),
  title: z.string().describe('Title of the meeting'),
  startAt: epochMs('When the meeting begins'),
  endAt: epochMs('When the meeting ends'),
  timezone: z.string().describe('IANA time zone of the host, such as `Europe/Lisbon`'),
  attendee: z
    .strictObject({ name: z.string().describe('Name of the attendee'), email: email('Address of the attendee') })
    .describe('The person who booked'),
})

const Purchase = z.strictObject({
  id: z.string().describe('Id of the order'),
  amount: z.number().describe('The total in units of the currency'),
  currency: z.string().describe('Three letters, upper case'),
  items: z
    .array(
      z.strictObject({
        name: z.string().describe('Name of the item'),
        quantity: z.int().describe('How many were bought'),
        amount: z.number().describe('The price of one in units of the currency'),
      }),
    )
    .describe('What was bought'),
  paidAt: epochMs('When it was paid'),
})

/** The shape of `data` for each event type. */
export const dataShapes = {
  'interaction.received': z.strictObject({
    interaction: Interaction.describe('What the recipient did'),
    project: named('project').describe('The project of the email'),
    recipient: z
      .strictObject({
        email: email('Address of the recipient'),
        rowId: z
          .string()
          .nullable()
          .describe('Id of the address in the account; null if the account has no such address'),
      })
      .describe('The recipient of the email'),
    source: z
      .strictObject({
        kind: z.enum(['send', 'journey', 'lifecycle']).describe('What sent the email'),
        id: z.string().describe('Id of the message, of the journey, or `<webinar or course id>:<event>`'),
      })
      .describe('Where the email came from'),
  }),
  'form.submitted': z.strictObject({
    source: FormSource,
    form: named('form').describe('The form, or the block of the email'),
    fields: z.record(z.string(), z.string()).describe('The answers: field name to value'),
    contact: ContactShape.nullable().describe('The contact of the person; null if there is none'),
    submittedAt: epochMs('When it was submitted'),
  }),
  'contact.created': z.strictObject({ contact: ContactShape }),
  'contact.updated': z.strictObject({
    contact: ContactShape,
    changed: z.array(z.string()).describe('Names of the columns that changed'),
    previous: z.record(z.string(), z.string()).describe('Column name to its value before; empty if it had none'),
  }),
  'lead.hot': z.strictObject({
    contact: ContactShape,
    score: z.number().describe('The score now, in points'),
    previousScore: z.number().describe('The score before, in points'),
    threshold: z.number().describe('The score from which a lead is hot, in points'),
  }),
  'lead.new': z.strictObject({
    contact: ContactShape,
    source: FormSource,
    form: named('form').describe('The form, or the block of the email'),
  }),
  'booking.created': z.strictObject({ booking: Booking.describe('The booking') }),
  'booking.cancelled': z.strictObject({
    booking: Booking.describe('The booking'),
    cancelledBy: z.enum(['attendee', 'host']).describe('Who cancelled it'),
    reason: z.string().nullable().describe('The reason that was given; null if none was'),
  }),
  'deal.created': z.strictObject({ deal: DealShape }),
  'deal.stage_changed': z.strictObject({ deal: DealShape, fromStageId: z.string().describe('Id of the stage before') }),
  'purchase.completed': z.strictObject({
    purchase: Purchase.describe('The order'),
    project: named('project').describe('The project of the email'),
    contact: ContactShape.nullable().describe('The contact of the buyer; null if there is none'),
  }),
  'journey.completed': z.strictObject({
    journey: named('journey').describe('The journey'),
    runId: z.string().describe('Id of the run'),
    contact: ContactShape,
    enteredAt: epochMs('When the contact entered the journey'),
    completedAt: epochMs('When the contact reached its end'),
  }),
} satisfies Record<EventType, z.ZodObject>

/** An event type. The error contains the given name, because one unknown name refuses the whole request. */
export const EventName = z
  .enum(eventTypes, {
    error: ({ input }) =>
      typeof input === 'string' ? `is not an event type: ${JSON.stringify(input.slice(0, 40))}` : undefined,
  })
  .meta({ id: 'EventType', description: 'What an event is about' })

/** The `data` of one event type. */
export type EventData<T extends EventType = EventType> = z.infer<(typeof dataShapes)[T]>

/** One delivery body (docs/reference/api.md#webhookevent). Only test sends have `test` in `data`. */
export interface WebhookEvent<T extends EventType = EventType> {
  id: string
  type: T
  createdAt: number
  data: EventData<T> & { test?: true }
}

/** Returns the name of an event's schema in the OpenAPI document: `DealStageChangedEvent`. */
export const eventSchemaName = (type: string): string =>
  `${type.replace(/(?:^|\W|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`

const shapeOf = <T extends EventType>(type: T) =>
  z
    .strictObject({
      id: z.string().describe('Id of the event, the same for every subscription and every attempt'),
      type: z.literal(type).describe('The event type'),
      createdAt: epochMs('When it happened'),
      data: dataShapes[type].describe('What happened'),
    })
    .meta({ id: eventSchemaName(type), description: `Fires when ${firesWhen[type]}` })

type Shapes = { [T in EventType]: ReturnType<typeof shapeOf<T>> }
const shapes = Object.fromEntries(eventTypes.map((type) => [type, shapeOf(type)])) as Shapes

/** Returns the schema of a whole event of a type. */
export const eventShape = <T extends EventType>(type: T): Shapes[T] => shapes[type]

const [first, ...others] = eventTypes

/** A whole event; `type` determines the shape of `data`. The answer of GET /events/sample. */
export const WebhookEventShape = z
  .discriminatedUnion('type', [eventShape(first), ...others.map((type) => eventShape(type))])
  .meta({
    id: 'WebhookEvent',
    description: 'An event; `type` determines the shape of `data`',
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(eventTypes.map((type) => [type, `#/components/schemas/${eventSchemaName(type)}`])),
    },
  })
