import { contactAt } from '../contacts/contacts.rows.ts'
import { confirmLead, writeContacts } from '../contacts/contacts.ts'
import { Problem } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { returnToMail } from '../suppressions/suppressions.ts'
import { formSignups } from './forms.columns.ts'
import { recordConsent } from './forms.consents.ts'
import { countConfirmation } from './forms.stats.ts'

/** The signup that a confirmation link belongs to. */
export interface Signup {
  accountId: string
  listId: string
  rowId: string
  email: string
  /** The form of the unconfirmed signup. It is null if it is confirmed already. */
  formName: string | null
}

type Place = Pick<Signup, 'listId' | 'rowId'>

const place = types(formSignups, 'accountId', 'listId', 'rowId')

// A contact that is active without an unconfirmed signup was confirmed before.
const signupOf = (locking = '') => `
  from ${contactAt(':accountId', ':listId', ':rowId', locking)} c
  left join form_signups s on s.account_id = :accountId and s.list_id = :listId and s.row_id = :rowId
  where (c.status = 'active' or s.form_id is not null)`

const findSignup = preparedStatement(
  'read-signup',
  { row: { email: 'text', formName: 'text?' }, parameters: place },
  `select c.email, s.form_name as "formName" ${signupOf()} and account_works(:accountId)`,
)

const lockSignup = preparedStatement(
  'lock-signup',
  {
    row: {
      email: 'text',
      status: typed<'active' | 'pending'>('text'),
      formId: 'text?',
      ...types(formSignups, 'formName', 'shown'),
    },
    parameters: place,
  },
  `select c.email, c.status, s.form_id as "formId", s.form_name as "formName", s.shown ${signupOf('for no key update')}`,
)

const endSignup = preparedStatement(
  'end-signup',
  { row: types(formSignups, 'fields'), parameters: place },
  'delete from form_signups where account_id = :accountId and list_id = :listId and row_id = :rowId returning fields',
)

/**
 * Returns the signup of a confirmation token. Returns null if the token is not valid or expired, the contact has left the list, or
 * the account is deleted.
 */
export const readSignup = async ({ sql, tokens, now }: App, token: string): Promise<Signup | null> => {
  const [accountId, listId, rowId] = tokens.read('confirm', token, now().getTime()) ?? []
  if (!accountId || !listId || !rowId) return null
  const [row] = await sql(findSignup, { accountId, listId, rowId })
  return row ? { accountId, listId, rowId, email: row.email, formName: row.formName } : null
}

/** Saves those fields of an active contact for which its list has room. Does nothing if the list was deleted. */
const saveFields = async (work: Work, listId: string, email: string, fields: Record<string, string>): Promise<void> => {
  try {
    await writeContacts(work, listId, [{ email, fields }], new Map(), { leavesOutExcess: true })
  } catch (error) {
    if (!(error instanceof Problem && error.kind === 'not_found')) throw error
  }
}

/**
 * Confirms a signup by its link (docs/reference/rules.md#double-opt-in). A pending contact becomes active: `lead.new` fires, and
 * `list-added` journeys start. For an active contact, the submitted fields are saved. The confirmation also ends an earlier
 * unsubscription, and is recorded as a consent. `address` is the client's address, which is kept with it. Nothing happens if
 * there is no unconfirmed signup.
 */
export const confirmSignup = async (
  work: Work,
  { listId, rowId }: Place,
  { address = null }: { address?: string | null } = {},
): Promise<void> => {
  const { sql, accountId } = work
  const [row] = await sql(lockSignup, { accountId, listId, rowId })
  if (!row?.formId) return
  const form = { id: row.formId, name: row.formName }
  const consent = { email: row.email, listId, form, shown: row.shown ?? [], address }
  if (row.status === 'pending') {
    const fields = await recordConsent(work, consent)
    const contact = await confirmLead(work, { listId, rowId }, { source: 'signup-form', form }, fields)
    if (!contact) return
    await countConfirmation(work, row.formId)
    await returnToMail(work, contact.email, null)
    return
  }
  const [confirmed] = await sql(endSignup, { accountId, listId, rowId })
  if (!confirmed) return
  await countConfirmation(work, row.formId)
  await saveFields(work, listId, row.email, { ...confirmed.fields, ...(await recordConsent(work, consent)) })
  await returnToMail(work, row.email, null)
}
