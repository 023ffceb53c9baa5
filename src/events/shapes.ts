import { z } from 'zod'
import { epochMs } from '../lib/common-shapes.ts'
import { type DataShapes, type EventType, events, eventTypes, firesWhen } from './events.ts'

export { type Contact, ContactShape, type Deal, DealShape, type EventData, type WebhookEvent } from './events.ts'

export const dataShapes = Object.fromEntries(events.map(({ type, data }) => [type, data()])) as DataShapes

/** An event type. The error contains the given name, because one unknown name refuses the whole request. */
export const EventName = z
  .enum(eventTypes, {
    error: ({ input }) =>
      typeof input === 'string' ? `is not an event type: ${JSON.stringify(input.slice(0, 40))}` : undefined,
  })
  .meta({ id: 'EventType', description: 'What an event is about' })

/** Returns the name of an event's schema in the OpenAPI document: `DealStageChangedEvent`. */
const eventSchemaName = (type: string): string =>
  `${type.replace(/(?:^|\W|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Event`

const isTest = z.literal(true).optional().describe('Only in a test: what it says did not happen')

const shapeOf = <T extends EventType>(type: T) =>
  z
    .strictObject({
      id: z.string().describe('Id of the event, the same for every subscription and every attempt'),
      type: z.literal(type).describe('The event type'),
      createdAt: epochMs('When it happened'),
      data: dataShapes[type].extend({ test: isTest }).describe('What happened'),
    })
    .meta({ id: eventSchemaName(type), description: `Fires when ${firesWhen[type]}` })

type Shapes = { [T in EventType]: ReturnType<typeof shapeOf<T>> }
const shapes = Object.fromEntries(eventTypes.map((type) => [type, shapeOf(type)])) as Shapes

/** Returns the schema of a whole event of a type. */
export const eventShape = <T extends EventType>(type: T): Shapes[T] => shapes[type]

const [first, ...others] = eventTypes.map((type) => eventShape(type))

/** A whole event; `type` determines the shape of `data`. The answer of GET /events/sample. */
export const WebhookEventShape = z.discriminatedUnion('type', [first!, ...others]).meta({
  id: 'WebhookEvent',
  description: 'An event; `type` determines the shape of `data`',
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(eventTypes.map((type) => [type, `#/components/schemas/${eventSchemaName(type)}`])),
  },
})
