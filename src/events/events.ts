import { z } from 'zod'
import { epochMs } from '../lib/common-shapes.ts'
import { newId } from '../lib/ids.ts'

/*
 * The events of the contract (docs/reference/events.md). Their payloads are strict, so that no property is added by accident. Contact
 * and Deal are defined here because both the API and events show them (docs/reference/api.md#resources).
 */

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
    email: z.string().describe('The address, in lower case; a malformed one is kept too'),
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
    email: z.string().describe('The address of its contact'),
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
    .strictObject({
      name: z.string().describe('Name of the attendee'),
      email: z.string().describe('Address of the attendee'),
    })
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

const minutes = 60_000
const days = 24 * 60 * minutes

const sampleContact = (now: number): Contact => ({
  listId: newId('lst', now - 90 * days),
  listName: 'Customers',
  rowId: newId('row', now - 30 * days),
  email: 'ada.okafor@northwind.example',
  fields: { first_name: 'Ada', last_name: 'Okafor', company: 'Northwind Traders', plan: 'pro' },
  status: 'active',
  verification: { status: 'valid', reasons: [], checkedAt: now - 30 * days },
  createdAt: now - 30 * days,
  updatedAt: now,
})

const sampleDeal = (now: number): Deal => ({
  id: newId('deal', now - 7 * days),
  title: 'Annual plan, 25 seats',
  value: 12500.5,
  currency: 'USD',
  pipelineId: newId('pipe', now - 90 * days),
  stageId: newId('stg', now - 90 * days),
  stage: 'Qualified',
  status: 'open',
  source: 'api',
  listId: newId('lst', now - 90 * days),
  rowId: newId('row', now - 30 * days),
  email: 'ada.okafor@northwind.example',
})

const sampleBooking = (now: number) => ({
  id: newId('bkg', now),
  title: 'Product walkthrough',
  startAt: now + 2 * days,
  endAt: now + 2 * days + 30 * minutes,
  timezone: 'Europe/Lisbon',
  attendee: { name: 'Ada Okafor', email: 'ada.okafor@northwind.example' },
})

const sampleProject = (now: number) => ({ id: newId('prj', now - 60 * days), name: 'Spring newsletter' })
const sampleForm = (now: number) => ({ id: newId('frm', now - 60 * days), name: 'Newsletter signup' })

interface Definition<Properties extends z.ZodRawShape> {
  /** When it fires: "Fires when …". */
  summary: string
  /** Makes the shape of `data`. The order of its properties is the order in deliveries. */
  data(): z.ZodObject<Properties, z.core.$strict>
  /** Returns the `data` of a realistic event. `now` in epoch ms. */
  sample(now: number): { [Name in keyof Properties]: z.output<Properties[Name]> }
}

/**
 * Defines an event. Builders, samples, the OpenAPI document with its webhooks, the types of the client and the tables of
 * docs/reference/events.md follow (`npm run client`, `npm run reference`).
 */
const defineEvent = <const Type extends string, Properties extends z.ZodRawShape>(
  type: Type,
  definition: Definition<Properties>,
): Definition<Properties> & { type: Type } => ({ type, ...definition })

/** All events, in the order of the contract. */
export const events = [
  defineEvent('interaction.received', {
    summary: 'a recipient opens, clicks, votes, rates, answers a quiz or a form, books or pays in an email',
    data: () =>
      z.strictObject({
        interaction: Interaction.describe('What the recipient did'),
        project: named('project').describe('The project of the email'),
        recipient: z
          .strictObject({
            email: z.string().describe('Address of the recipient'),
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
    sample: (now) => ({
      interaction: { id: newId('int', now), kind: 'rating' as const, blockId: 'rate-us', value: 4, at: now },
      project: sampleProject(now),
      recipient: { email: 'ada.okafor@northwind.example', rowId: newId('row', now - 30 * days) },
      source: { kind: 'send' as const, id: newId('msg', now - days) },
    }),
  }),
  defineEvent('form.submitted', {
    summary: 'somebody submits a signup form (`source` `signup-form`) or a form inside an email (`email-form`)',
    data: () =>
      z.strictObject({
        source: FormSource,
        form: named('form').describe('The form, or the block of the email'),
        fields: z.record(z.string(), z.string()).describe('The answers: field name to value'),
        contact: ContactShape.nullable().describe('The contact of the person; null if there is none'),
        submittedAt: epochMs('When it was submitted'),
      }),
    sample: (now) => ({
      source: 'signup-form' as const,
      form: sampleForm(now),
      fields: { first_name: 'Ada', company: 'Northwind Traders' },
      contact: sampleContact(now),
      submittedAt: now,
    }),
  }),
  defineEvent('contact.created', {
    summary: 'a contact is added to a list',
    data: () => z.strictObject({ contact: ContactShape }),
    sample: (now) => ({ contact: { ...sampleContact(now), createdAt: now } }),
  }),
  defineEvent('contact.updated', {
    summary: "a contact's fields change; identical data fires nothing",
    data: () =>
      z.strictObject({
        contact: ContactShape,
        changed: z.array(z.string()).describe('Names of the columns that changed'),
        previous: z.record(z.string(), z.string()).describe('Column name to its value before; empty if it had none'),
      }),
    sample: (now) => ({
      contact: sampleContact(now),
      changed: ['plan', 'company'],
      previous: { plan: 'starter', company: '' },
    }),
  }),
  defineEvent('lead.hot', {
    summary: 'a lead score reaches the threshold from below',
    data: () =>
      z.strictObject({
        contact: ContactShape,
        score: z.number().describe('The score now, in points'),
        previousScore: z.number().describe('The score before, in points'),
        threshold: z.number().describe('The score from which a lead is hot, in points'),
      }),
    sample: (now) => ({ contact: sampleContact(now), score: 53.5, previousScore: 38.5, threshold: 50 }),
  }),
  defineEvent('lead.new', {
    summary: 'a new lead arrives by a signup form or by a form in an email',
    data: () =>
      z.strictObject({
        contact: ContactShape,
        source: FormSource,
        form: named('form').describe('The form, or the block of the email'),
      }),
    sample: (now) => ({ contact: sampleContact(now), source: 'signup-form' as const, form: sampleForm(now) }),
  }),
  defineEvent('booking.created', {
    summary: 'a time is booked',
    data: () => z.strictObject({ booking: Booking.describe('The booking') }),
    sample: (now) => ({ booking: sampleBooking(now) }),
  }),
  defineEvent('booking.cancelled', {
    summary: 'a booking is cancelled; moving one fires neither booking event',
    data: () =>
      z.strictObject({
        booking: Booking.describe('The booking'),
        cancelledBy: z.enum(['attendee', 'host']).describe('Who cancelled it'),
        reason: z.string().nullable().describe('The reason that was given; null if none was'),
      }),
    sample: (now) => ({
      booking: sampleBooking(now),
      cancelledBy: 'attendee' as const,
      reason: 'Travelling that day',
    }),
  }),
  defineEvent('deal.created', {
    summary: 'a deal is created, whatever its origin',
    data: () => z.strictObject({ deal: DealShape }),
    sample: (now) => ({ deal: sampleDeal(now) }),
  }),
  defineEvent('deal.stage_changed', {
    summary: 'a deal moves to another stage, won and lost included',
    data: () => z.strictObject({ deal: DealShape, fromStageId: z.string().describe('Id of the stage before') }),
    sample: (now) => ({ deal: sampleDeal(now), fromStageId: newId('stg', now - 90 * days) }),
  }),
  defineEvent('purchase.completed', {
    summary: 'a recipient pays a checkout block',
    data: () =>
      z.strictObject({
        purchase: Purchase.describe('The order'),
        project: named('project').describe('The project of the email'),
        contact: ContactShape.nullable().describe('The contact of the buyer; null if there is none'),
      }),
    sample: (now) => ({
      purchase: {
        id: newId('pay', now),
        amount: 59.8,
        currency: 'USD',
        items: [{ name: 'Field guide', quantity: 2, amount: 29.9 }],
        paidAt: now,
      },
      project: sampleProject(now),
      contact: sampleContact(now),
    }),
  }),
  defineEvent('journey.completed', {
    summary: 'a contact reaches the end of a journey; an early exit does not count',
    data: () =>
      z.strictObject({
        journey: named('journey').describe('The journey'),
        runId: z.string().describe('Id of the run'),
        contact: ContactShape,
        enteredAt: epochMs('When the contact entered the journey'),
        completedAt: epochMs('When the contact reached its end'),
      }),
    sample: (now) => ({
      journey: { id: newId('jrn', now - 60 * days), name: 'Welcome series' },
      runId: newId('run', now - 7 * days),
      contact: sampleContact(now),
      enteredAt: now - 7 * days,
      completedAt: now,
    }),
  }),
]

type Events = (typeof events)[number]
export type EventType = Events['type']

/** The subscribable event types, exactly as docs/reference/events.md#event-types lists them. */
export const eventTypes: readonly EventType[] = events.map(({ type }) => type)

/** When each event fires, as docs/reference/events.md#event-types says. */
export const firesWhen = Object.fromEntries(events.map(({ type, summary }) => [type, summary])) as Readonly<
  Record<EventType, string>
>

export type DataShapes = { [T in EventType]: ReturnType<Extract<Events, { type: T }>['data']> }

export type EventData<T extends EventType = EventType> = z.infer<DataShapes[T]>

/** The envelope of an event, as it is delivered (docs/reference/events.md#envelope). */
export interface EmittedEvent {
  id: string
  type: string
  /** epoch ms */
  createdAt: number
  data: unknown
}

/** One delivery body (docs/reference/api.md#webhookevent). Only test sends have `test` in `data`. */
export interface WebhookEvent<T extends EventType = EventType> {
  id: string
  type: T
  createdAt: number
  data: EventData<T> & { test?: true }
}

/** The properties of each type's `data`, in the order of its shape. */
const properties = new Map<EventType, readonly string[]>()

const propertiesOf = (type: EventType): readonly string[] =>
  properties.getOrInsertComputed(type, () => Object.keys(events.find((event) => event.type === type)!.data().shape))

/**
 * Returns the `data` of an event (docs/reference/events.md#payloads): the properties of its shape, in their order. No other property of
 * the input gets into a payload.
 */
export const buildData = <T extends EventType>(type: T, input: EventData<T>): EventData<T> =>
  Object.fromEntries(propertiesOf(type).map((name) => [name, input[name as keyof EventData<T>]])) as EventData<T>

/** Returns the delivery body, with its keys in the order of docs/reference/events.md#envelope. `createdAt` in epoch ms. */
export const envelope = <T extends EventType>({ id, type, createdAt, data }: WebhookEvent<T>): WebhookEvent<T> => ({
  id,
  type,
  createdAt,
  data,
})
