import type { Listener } from '../store/work.ts'

/** An erased person stands in no registration any more. The seat stays taken: nobody else is told of it. */
export const forgetAttendees: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await sql(
      `update webinar_registrations set email = '', name = '', remind_at = null where account_id = $1 and email = $2`,
      [accountId, email],
    )
  },
}
