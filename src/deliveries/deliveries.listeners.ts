import type { Listener } from '../store/work.ts'
import { eraseEvents, eventsNaming } from './deliveries.erase.ts'

/** Erases events that contain an erased address, and cancels their deliveries. */
export const forgetNamed: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await eraseEvents(
      work,
      (await eventsNaming(work, email)).map(({ id }) => id),
    )
  },
}
