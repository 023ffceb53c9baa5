import { newId } from '../lib/ids.ts'
import { buildData, type EventData, type EventType, envelope, events, type WebhookEvent } from './events.ts'

/**
 * Returns a realistic event of a type, from the builder of real events (GET /events/sample). `now` in epoch ms. `test` adds
 * `test: true` to `data`, as in test sends.
 */
export const sampleEvent = <T extends EventType>(
  type: T,
  { now, test = false }: { now: number; test?: boolean },
): WebhookEvent<T> => {
  const { sample } = events.find((event) => event.type === type)!
  const data = buildData(type, sample(now) as EventData<T>) as WebhookEvent<T>['data']
  if (test) data.test = true
  return envelope({ id: newId('evt', now), type, createdAt: now, data })
}
