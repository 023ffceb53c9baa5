import { presentAccounts } from '../accounts/accounts.rows.ts'
import { requireHere } from '../accounts/accounts.ts'
import { isList } from '../contacts/contacts.rows.ts'
import { byName } from '../lib/names.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { forms } from './forms.columns.ts'

const form = columns(forms, ['id', 'name', 'listId', 'fields', 'doubleOptIn', 'origins', 'createdAt', 'updatedAt'], 'f')

export type Form = InEpochMs<RowOf<typeof form.types>>

/** A form with the URL of its hosted page. */
export interface FormView extends Form {
  url: string
}

/** Returns a form with the URL of its page; `publicUrl` is the daemon's. */
export const viewForm = (
  { id, name, listId, fields, doubleOptIn, origins, createdAt, updatedAt }: Form,
  publicUrl: string,
): FormView => ({ id, name, listId, fields, doubleOptIn, origins, url: `${publicUrl}/f/${id}`, createdAt, updatedAt })

const readForms = statement(
  'list-forms',
  { row: form.types, parameters: { accountId: 'text' } },
  `select ${form.list} from forms f where f.account_id = :accountId order by f.id`,
)

/** Returns the account's forms, ordered by name. */
export const listForms = async ({ sql, accountId }: Work): Promise<Form[]> =>
  (await sql(readForms, { accountId })).sort(byName('name')).map(inEpochMs)

const findNamedForms = preparedStatement(
  'forms-named',
  { row: form.types, parameters: { accountId: 'text', id: 'text?', name: 'text' } },
  `select ${form.list} from forms f where f.account_id = :accountId and (f.id = :id or f.name = :name) order by f.id = :id desc`,
)

/** Returns the forms with the id or the name, at most two. The one with the id is first. */
export const formsNamed = async (
  { sql, accountId }: Work,
  { id, name }: { id: string | null; name: string },
): Promise<Form[]> => (await sql(findNamedForms, { accountId, id, name })).map(inEpochMs)

const formNotFound = (ref: string) => noSuch('form', ref, { hint: 'svc forms list' })

/** Finds a form by id, else by name. Throws Problem `not_found`, also for a form of another account. */
export const findForm = async (work: Work, ref: string): Promise<Form> => {
  const [form] = await formsNamed(work, { id: ref, name: ref })
  if (!form) throw formNotFound(ref)
  return form
}

const readFormRow = preparedStatement(
  'read-form',
  { row: form.types, parameters: { accountId: 'text', id: 'text' } },
  `select ${form.list} from forms f where f.account_id = :accountId and f.id = :id`,
)

/** Finds the form of a submission by its id. Throws Problem `not_found`. */
export const readForm = async ({ sql, accountId }: AccountSql, id: string): Promise<Form> => {
  const [row] = await sql(readFormRow, { accountId, id })
  if (!row) throw formNotFound(id)
  return inEpochMs(row)
}

/** A form that was found by its public URL, without knowing its account. */
export interface PublicForm extends Form {
  accountId: string
}

const findPublic = preparedStatement(
  'find-public-form',
  { row: { ...form.types, accountId: 'text' }, parameters: { id: 'text' } },
  `select ${form.list}, f.account_id as "accountId"
   from forms f join ${presentAccounts} a on a.id = f.account_id
   where f.id = :id and ${isList('f.list_id')}`,
)

/**
 * Finds a form by the id in its public URL. Returns null if the form, its list or its account does not exist. Throws Problem
 * `unavailable` or `gone` if the account is exported.
 */
export const findPublicForm = async (app: Pick<App, 'sql' | 'database'>, id: string): Promise<PublicForm | null> => {
  if (!/^frm_[0-9a-z]{26}$/.test(id)) return null
  const [row] = await app.sql(findPublic, { id })
  if (row) await requireHere(app, row.accountId)
  return row ? inEpochMs(row) : null
}
