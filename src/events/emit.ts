/*
 * Each listener states in SQL who wants an event (`Listener.events.receivers`). One statement asks all listeners, and the answer
 * holds for the unit of work. Figures: the tables of CPU per call in test/bench.
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
       * An SQL expression of type text[]: the receivers of the events of the type `:type` of the account `:accountId`. An event
       * without receivers is not built.
       */
      readonly receivers: string
      /** Handles events of one type, which all have these receivers. */
      receive(work: Work, events: readonly EmittedEvent[], receivers: readonly string[]): Promise<void>
    }
  }
}

type Events = NonNullable<Listener['events']>

interface Interested {
  receive: Events['receive']
  receivers: readonly string[]
}

/** The interested listeners by type. */
const interest = stateKey(() => new Map<EventType, Promise<Interested[]>>())

interface Asked {
  accountId: string
  type: EventType
}

/** The statements that ask all listeners, by their expressions. */
const questions = new Map<string, Statement<{ receivers: string[][] }, Asked>>()

// An array of arrays of different lengths exists in JSON only.
const questionOf = (expressions: string) =>
  questions.getOrInsertComputed(expressions, () =>
    composedStatement(
      'receivers-of-events',
      {
        row: { receivers: typed<string[][]>('json') },
        parameters: { accountId: 'text', type: typed<EventType>('text') },
      },
      `select json_build_array(${expressions}) as receivers`,
    ),
  )

const readInterested = async ({ sql, accountId, listeners }: Work, type: EventType): Promise<Interested[]> => {
  const asked = (await listeners()).flatMap(({ events }) => events ?? [])
  if (asked.length === 0) return []
  const expressions = asked.map(({ receivers }) => `(${receivers})`).join(', ')
  const [answer] = await sql(questionOf(expressions), { accountId, type })
  return asked.flatMap(({ receive }, i) => {
    const receivers = answer!.receivers[i]!
    return receivers.length > 0 ? [{ receive, receivers }] : []
  })
}

/** Returns the listeners that want events of the type, read once per unit of work. */
const interested = (work: Work, type: EventType): Promise<Interested[]> =>
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
  const listeners = await interested(work, type)
  if (listeners.length === 0) return
  const createdAt = work.now.getTime()
  const events: EmittedEvent[] = build().map((input) => ({
    id: newId('evt', createdAt),
    type,
    createdAt,
    data: buildData(type, input),
  }))
  if (events.length > 0) for (const { receive, receivers } of listeners) await receive(work, events, receivers)
}
