import type { Listener } from '../store/work.ts'

// Every process loads this file at its start, so the implementation is imported when it is called.

/** Bookings are business records and stay when their attendee is erased; the address is removed from them. */
export const forgetAttendee: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const { eraseAttendee } = await import('./bookings.cancel.ts')
    await eraseAttendee(work, email)
  },
}
