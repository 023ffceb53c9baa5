import { addColumns, requireList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { Problem } from '../lib/problem.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import type { FormField } from '../studio/studio.ts'
import { formConsents } from './forms.columns.ts'

/*
 * Evidence of consents (docs/reference/rules.md#double-opt-in): a row for each confirmed signup, and two fields of the contact.
 */

const consentColumns = columns(formConsents, Object.keys(formConsents.columns) as (keyof typeof formConsents.columns)[])

const insertConsent = preparedStatement(
  'insert-consent',
  { parameters: { ...consentColumns.types, fields: 'jsonb' } },
  `insert into form_consents (${consentColumns.names}) values (${consentColumns.values})`,
)

interface Consent {
  email: string
  listId: string
  form: { id: string; name: string }
  shown: readonly FormField[]
  /** The client's address. It is null if it is not kept. */
  address: string | null
}

/**
 * Records a consent. Adds the columns of its fields to the list, and returns these fields for the contact; none if the
 * list has no room for the columns.
 */
export const recordConsent = async (
  work: Work,
  { email, listId, form, shown, address }: Consent,
): Promise<Record<string, string>> => {
  const { sql, accountId, now } = work
  const id = newId('con', now.getTime())
  await sql(insertConsent, {
    accountId,
    id,
    email,
    listId,
    formId: form.id,
    formName: form.name,
    fields: JSON.stringify(shown),
    address,
    at: now,
  })
  const fields = { consent_source: `form ${form.name}`, consent_at: now.toISOString() }
  try {
    addColumns(work, { id: listId, ...(await requireList(work, listId)) }, Object.keys(fields))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return {}
  }
  return fields
}

interface ConsentView {
  formId: string
  form: string
  /** epoch ms */
  at: number
  fields: FormField[]
  address?: string
}

const readConsents = statement(
  'consents-of-address',
  {
    row: { ...types(formConsents, 'formId', 'fields', 'address'), form: 'text', at: 'int8' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select form_id as "formId", form_name as form, ${epochMs('at')} as at, fields, address
   from form_consents where account_id = :accountId and email = :email order by id`,
)

/** Returns the consents of a normalised address, oldest first. */
export const consentsOf = async ({ sql, accountId }: AccountSql, email: string): Promise<ConsentView[]> =>
  (await sql(readConsents, { accountId, email })).map(({ address, ...consent }) => ({
    ...consent,
    ...(address !== null && { address }),
  }))

const deleteConsents = statement(
  'delete-consents-of-address',
  { parameters: { accountId: 'text', email: 'text' } },
  'delete from form_consents where account_id = :accountId and email = :email',
)

/** Deletes the consents of an erased address. */
export const eraseConsents = async ({ sql, accountId }: AccountSql, email: string): Promise<void> => {
  await sql(deleteConsents, { accountId, email })
}
