import { confirmLead } from '../contacts/contacts.ts'
import { removeSuppressions } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'

/** Whom a link to confirm by is of. */
export interface Signup {
  accountId: string
  listId: string
  rowId: string
  email: string
  isPending: boolean
  /** null: it is confirmed. */
  formName: string | null
}

type Place = Pick<Signup, 'listId' | 'rowId'>

const signups = `
  select c.email, c.status = 'pending' as "isPending", s.form_id as "formId", s.form_name as "formName"
  from contacts c left join form_signups s on s.account_id = c.account_id and s.row_id = c.row_id and s.list_id = c.list_id
  where c.account_id = $1 and c.list_id = $2 and c.row_id = $3 and (c.status = 'active' or s.form_id is not null)`

/** null for a token that is changed or over, and where the contact has left the list, or its account is gone. */
export const readSignup = async ({ sql, tokens, now }: App, token: string): Promise<Signup | null> => {
  const [accountId, listId, rowId] = tokens.read('confirm', token, now().getTime()) ?? []
  if (!accountId || !listId || !rowId) return null
  const [row] = await sql<Pick<Signup, 'email' | 'isPending' | 'formName'>>(
    `select signup.* from (${signups}) signup where account_lives($1)`,
    [accountId, listId, rowId],
    'read-signup',
  )
  return row ? { accountId, listId, rowId, email: row.email, isPending: row.isPending, formName: row.formName } : null
}

/**
 * Makes a pending contact active by its link (decisions.md, Contacts): `lead.new` fires, `list-added` journeys start. Who had
 * unsubscribed before has asked for mail again. One that is not pending stays as it is, and nothing fires.
 */
export const confirmSignup = async (work: Work, { listId, rowId }: Place): Promise<void> => {
  const { sql, accountId } = work
  const [row] = await sql<{ formId: string; formName: string }>(signups, [accountId, listId, rowId], 'find-signup')
  if (!row?.formId) return
  const form = { id: row.formId, name: row.formName }
  const contact = await confirmLead(work, { listId, rowId }, { source: 'signup-form', form })
  if (contact) await removeSuppressions(work, contact.email, 'unsubscribed')
}
