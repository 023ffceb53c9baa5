/*
 * One statement asks all listeners. Each listener asked by itself whether it wants an event. Journeys looked into 25
 * indexes. Each listener states its condition in SQL (`Listener.events.wanted`). One statement asks all of them, and
 * the answer holds for the unit of work. A listener that wants the event reads its details in a second statement.
 * Figure (2026-11-22): POST and PATCH /deals: see the table of CPU per call in test/bench.
 */

import { newId } from '../lib/ids.ts'
import { typed } from '../store/column-types.ts'
import { composedStatement, type Statement } from '../store/statement.ts'
import type { Listener, Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'
import { buildData, type EmittedEvent, type EventData, type EventType } from './events.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** Which events it receives. Without it, the listener receives none. */
    readonly events?: {
      /**
       * The SQL condition that the listener wants events of the type `:type` of the account `:accountId`. One round trip
       * evaluates the conditions of all listeners. An event that no listener wants is not built.
       */
      readonly wanted: string
      receive(work: Work, events: readonly EmittedEvent[]): Promise<void>
    }
  }
}

type Events = NonNullable<Listener['events']>

/** The interested listeners by type. */
const interest = stateKey(() => new Map<EventType, Promise<Events[]>>())

interface Asked {
  accountId: string
  type: EventType
}

/** The statements that ask all listeners, by their conditions. */
const questions = new Map<string, Statement<{ wanted: boolean[] }, Asked>>()

const questionOf = (conditions: string) =>
  questions.getOrInsertComputed(conditions, () =>
    composedStatement(
      'wanted-events',
      { row: { wanted: '_bool' }, parameters: { accountId: 'text', type: typed<EventType>('text') } },
      `select array[${conditions}] as wanted`,
    ),
  )

const readInterested = async ({ sql, accountId, listeners }: Work, type: EventType): Promise<Events[]> => {
  const receivers = (await listeners()).flatMap(({ events }) => events ?? [])
  if (receivers.length === 0) return []
  const conditions = receivers.map(({ wanted }) => `(${wanted})`).join(', ')
  const [answer] = await sql(questionOf(conditions), { accountId, type })
  return receivers.filter((_, i) => answer!.wanted[i])
}

/** Returns the listeners that want events of the type, read once per unit of work. */
const interested = (work: Work, type: EventType): Promise<Events[]> =>
  work.state(interest).getOrInsertComputed(type, () => readInterested(work, type))

/** Returns whether any listener wants events of the type from this account. Bulk writes use it to skip work for events. */
export const isWanted = async (work: Work, type: EventType): Promise<boolean> =>
  (await interested(work, type)).length > 0

/**
 * Emits one event for each input that `build` returns, in the transaction of `work`: events of a transaction that is rolled back do
 * not exist (docs/reference/events.md#delivery). `build` is called only if a listener wants the type.
 */
export const emit = async <T extends EventType>(
  work: Work,
  type: T,
  build: () => readonly EventData<T>[],
): Promise<void> => {
  const receivers = await interested(work, type)
  if (receivers.length === 0) return
  const createdAt = work.now.getTime()
  const events: EmittedEvent[] = build().map((input) => ({
    id: newId('evt', createdAt),
    type,
    createdAt,
    data: buildData(type, input),
  }))
  if (events.length > 0) for (const { receive } of receivers) await receive(work, events)
}
