import type { PersonalDataPart } from '../store/work.ts'
import { deliveriesOfEvents, eventsNaming } from './deliveries.erase.ts'

/** The events that contain an address, and their deliveries, including pending ones. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'events',
    read: async (reader, email) =>
      (await eventsNaming(reader, email)).map(({ payload }) => JSON.parse(payload) as object),
  },
  {
    name: 'deliveries',
    read: async (reader, email) =>
      deliveriesOfEvents(
        reader,
        (await eventsNaming(reader, email)).map(({ id }) => id),
      ),
  },
]
