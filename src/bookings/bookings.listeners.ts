import type { Listener } from '../store/work.ts'
import { eraseAttendee } from './bookings.cancel.ts'

/** Bookings outlive their attendee, as records of business; an erased address stands in none of them any more. */
export const forgetAttendee: Listener = {
  wants: async () => false,
  receive: async () => {},
  async contactsRemoved(work, { listId, email }) {
    if (listId === undefined && email !== undefined) await eraseAttendee(work, email)
  },
}
