import { z } from 'zod'
import type { EmittedEvent, EventType } from '../../events/events.ts'
import { dataShapes } from '../../events/shapes.ts'
import { isEpochMs } from '../../lib/common-shapes.ts'
import { recordOf } from '../../lib/file-faults.ts'
import { meets } from '../../lib/filter.match.ts'
import { type Filter, parseFilter } from '../../lib/filter.ts'

/*
 * The `where` of a `wait-for` (docs/reference/journeys.md#waiting-for-an-event): a filter of the event's data, or the values that the
 * data must have, by path.
 */

export type AwaitedWhere = string | Readonly<Record<string, unknown>>

/** A value in the data of an event type. `isOpen` says that it may be an object whose names are unknown. */
interface Place {
  path: string
  /** As errors list it. */
  shown: string
  isOpen: boolean
  isTime: boolean
}

function* placesIn(shape: z.core.$ZodType, path: string): Generator<Place> {
  if (shape instanceof z.ZodNullable) yield* placesIn(shape.unwrap(), path)
  else if (shape instanceof z.ZodArray) yield* placesIn(shape.element, path)
  else if (shape instanceof z.ZodObject)
    for (const [name, value] of Object.entries(shape.shape)) yield* placesIn(value, path ? `${path}.${name}` : name)
  else {
    const isRecord = shape instanceof z.ZodRecord
    const shown = isRecord ? `${path}.<name>` : path
    yield { path, shown, isOpen: isRecord || shape instanceof z.ZodUnion, isTime: isEpochMs(shape) }
  }
}

const withoutPrefix = (path: string): string => path.replace(/^data\./, '')

/** The values in the data of each event type, by path. */
const placesOf = Object.fromEntries(
  Object.entries(dataShapes).map(([type, shape]) => [
    type,
    new Map(Array.from(placesIn(shape, ''), (place) => [place.path, place])),
  ]),
) as Record<EventType, Map<string, Place>>

/** Parses a filter of the data of an event type. Throws Problem `invalid` with the column of the first mistake. */
export const parseAwaited = (type: EventType, where: string): Filter => {
  const places = placesOf[type]
  const open = [...places.values()].filter(({ isOpen }) => isOpen)
  const has = (name: string): boolean => {
    const path = withoutPrefix(name)
    return places.has(path) || open.some((place) => path.startsWith(`${place.path}.`))
  }
  const names = [...places.values()].map(({ shown }) => shown)
  return parseFilter(where, { terms: new Map(), columns: { has, [Symbol.iterator]: () => names.values() } })
}

/** Returns the values at a path: of a list those of its elements, of an object those of its properties. */
const valuesAt = (node: unknown, path: string): unknown[] => {
  if (Array.isArray(node)) return node.flatMap((element) => valuesAt(element, path))
  const object = recordOf(node)
  if (!object) return path === '' ? [node] : []
  if (path === '') return Object.values(object).flatMap((value) => valuesAt(value, ''))
  // The names of fields may have dots.
  if (Object.hasOwn(object, path)) return valuesAt(object[path], '')
  const dot = path.indexOf('.')
  const name = path.slice(0, dot)
  return dot > 0 && Object.hasOwn(object, name) ? valuesAt(object[name], path.slice(dot + 1)) : []
}

const textsAt = ({ type, data }: EmittedEvent, name: string): string[] => {
  const path = withoutPrefix(name)
  const isTime = placesOf[type as EventType].get(path)?.isTime
  return valuesAt(data, path).map((value) => (isTime ? new Date(Number(value)).toISOString() : String(value ?? '')))
}

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((node, key) => {
    const object = recordOf(node)
    return object && Object.hasOwn(object, key) ? object[key] : undefined
  }, value)

/** Returns whether an event meets the `where` of a `wait-for`. */
export const matchesWhere = (event: EmittedEvent, where: AwaitedWhere | null): boolean => {
  if (typeof where === 'string')
    return meets(parseAwaited(event.type as EventType, where), (name) => textsAt(event, name), event.createdAt)
  // Paths are relative to the data, or to the event if they begin with `data.`.
  return Object.entries(where ?? {}).every(
    ([path, value]) => at(path.startsWith('data.') ? event : event.data, path) === value,
  )
}
