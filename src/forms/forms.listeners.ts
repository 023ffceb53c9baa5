import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'
import { eraseConsents } from './forms.consents.ts'
import { eraseFormPerson } from './forms.stats.ts'

const deleteSignup = statement(
  'delete-signup',
  { parameters: { accountId: 'text', rowId: 'text', listId: 'text' } },
  'delete from form_signups where account_id = :accountId and row_id = :rowId and list_id = :listId',
)

const deleteRemoved = statement(
  'delete-signups-of-removed-contacts',
  { parameters: { accountId: 'text', rowId: 'text?', listId: 'text?' } },
  `delete from form_signups
   where account_id = :accountId and (:rowId::text is null or row_id = :rowId) and (:listId::text is null or list_id = :listId)`,
)

/**
 * Deletes an unconfirmed signup when its contact becomes active or is deleted. Deletes an erased address from the
 * people of forms, with its consents.
 */
export const forgetSignups: Listener = {
  async contactsActivated({ sql, accountId }, contacts) {
    for (const { rowId, listId } of contacts) await sql(deleteSignup, { accountId, rowId, listId })
  },
  async contactsRemoved({ sql, accountId }, { listId = null, rowId = null, email }) {
    if (listId !== null || rowId !== null) await sql(deleteRemoved, { accountId, rowId, listId })
    if (listId !== null || email === undefined) return
    await eraseFormPerson({ sql, accountId }, email)
    await eraseConsents({ sql, accountId }, email)
  },
}
