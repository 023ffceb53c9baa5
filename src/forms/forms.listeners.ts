import type { Listener } from '../store/work.ts'

/** Deletes an unconfirmed signup when its contact becomes active or is deleted. */
export const forgetSignups: Listener = {
  async contactsActivated({ sql, accountId }, contacts) {
    for (const { rowId, listId } of contacts)
      await sql('delete from form_signups where account_id = $1 and row_id = $2 and list_id = $3', [
        accountId,
        rowId,
        listId,
      ])
  },
  async contactsRemoved({ sql, accountId }, { listId = null, rowId = null }) {
    if (listId === null && rowId === null) return
    await sql(
      `delete from form_signups
       where account_id = $1 and ($2::text is null or row_id = $2) and ($3::text is null or list_id = $3)`,
      [accountId, rowId, listId],
    )
  },
}
