import { newId } from '../lib/ids.ts'
import type { EmittedEvent, Listener, Work } from '../store/work.ts'
import { buildData, type EventInput } from './builders.ts'
import type { EventType } from './types.ts'

type Events = NonNullable<Listener['events']>

const asked = new WeakMap<Work, Map<EventType, Promise<Events[]>>>()

const ask = async ({ sql, accountId, listeners }: Work, type: EventType): Promise<Events[]> => {
  const receivers = listeners.flatMap(({ events }) => events ?? [])
  if (receivers.length === 0) return []
  const conditions = receivers.map(({ wanted }) => `(${wanted})`)
  const [answer] = await sql<{ wanted: boolean[] }>(
    `select array[${conditions.join(', ')}] as wanted`,
    [accountId, type],
    'wanted-events',
  )
  return receivers.filter((_, i) => answer!.wanted[i])
}

/** Who wants events of the type, as it was when the unit of work first asked. */
const interested = (work: Work, type: EventType): Promise<Events[]> =>
  asked.getOrInsertComputed(work, () => new Map()).getOrInsertComputed(type, () => ask(work, type))

/** Whether any listener wants events of the type from this account: lets a bulk write skip what only events need. */
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
