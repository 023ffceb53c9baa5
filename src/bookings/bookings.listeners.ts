import type { Listener } from '../store/work.ts'

// Loaded by every process, before it knows what it needs: what does the work is imported when it is called.

/** Bookings outlive their attendee, as records of business; an erased address stands in none of them any more. */
export const forgetAttendee: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const { eraseAttendee } = await import('./bookings.cancel.ts')
    await eraseAttendee(work, email)
  },
}
