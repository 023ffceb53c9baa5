import { newId } from '../lib/ids.ts'
import type { EmittedEvent, Listener, Work } from '../store/work.ts'
import { buildData, type EventInput } from './builders.ts'
import type { EventType } from './types.ts'

const interested = async (work: Work, type: EventType): Promise<Listener[]> => {
  // One after the other: they ask on one connection.
  const found: Listener[] = []
  for (const listener of work.listeners) if (await listener.wants(work, type)) found.push(listener)
  return found
}

/** Whether anyone in this account would hear events of the type: lets a bulk write skip what only events need. */
export const isWanted = async (work: Work, type: EventType): Promise<boolean> =>
  (await interested(work, type)).length > 0

/**
 * Emits one event for each input that `build` gives, in the transaction of `work`: with it they are committed, or never
 * were (decisions.md, Webhooks and events). `build` runs only where somebody listens.
 */
export const emit = async <T extends EventType>(
  work: Work,
  type: T,
  build: () => readonly EventInput<T>[],
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
  if (events.length > 0) for (const listener of listeners) await listener.receive(work, events)
}
