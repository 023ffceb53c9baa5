import { byName } from '../lib/names.ts'
import { noSuch } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import type { FormField } from '../studio/studio.ts'

type Reader = Pick<Work, 'sql' | 'accountId'>

/** A signup form; times in epoch ms. */
export interface Form {
  id: string
  name: string
  listId: string
  fields: FormField[]
  doubleOptIn: boolean
  origins: string[]
  createdAt: number
  updatedAt: number
}

/** A form with the URL of its hosted page. */
export interface FormView extends Form {
  url: string
}

type Row = Omit<Form, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

const columns = `f.id, f.name, f.list_id as "listId", f.fields, f.double_opt_in as "doubleOptIn", f.origins,
  f.created_at as "createdAt", f.updated_at as "updatedAt"`

const formOf = ({ createdAt, updatedAt, ...form }: Row): Form => ({
  ...form,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** Returns a form with the URL of its page; `publicUrl` is the daemon's. */
export const viewForm = (
  { id, name, listId, fields, doubleOptIn, origins, createdAt, updatedAt }: Form,
  publicUrl: string,
): FormView => ({ id, name, listId, fields, doubleOptIn, origins, url: `${publicUrl}/f/${id}`, createdAt, updatedAt })

/** Returns the account's forms, ordered by name. */
export const listForms = async ({ sql, accountId }: Reader): Promise<Form[]> =>
  (await sql<Row>(`select ${columns} from forms f where f.account_id = $1 order by f.id`, [accountId]))
    .sort(byName('name'))
    .map(formOf)

/** Returns the forms with the id or the name, at most two. The one with the id is first. */
export const formsNamed = async (
  { sql, accountId }: Reader,
  { id, name }: { id: string | null; name: string },
): Promise<Form[]> =>
  (
    await sql<Row>(
      `select ${columns} from forms f where f.account_id = $1 and (f.id = $2 or f.name = $3) order by f.id = $2 desc`,
      [accountId, id, name],
      'forms-named',
    )
  ).map(formOf)

/** Finds a form by id, else by name. Throws Problem `not_found`, also for a form of another account. */
export const findForm = async (reader: Reader, ref: string): Promise<Form> => {
  const [form] = await formsNamed(reader, { id: ref, name: ref })
  if (!form) throw noSuch('form', ref, { hint: 'svc forms list' })
  return form
}

/** A form that was found by its public URL, without knowing its account. */
export interface PublicForm extends Form {
  accountId: string
}

/** Finds a form by the id in its public URL. Returns null if the form, its list or its account does not exist. */
export const findPublicForm = async ({ sql }: Pick<App, 'sql'>, id: string): Promise<PublicForm | null> => {
  if (!/^frm_[0-9a-z]{26}$/.test(id)) return null
  const [row] = await sql<Row & { accountId: string }>(
    `select ${columns}, f.account_id as "accountId" from forms f
     join accounts a on a.id = f.account_id and a.deleted_at is null
     where f.id = $1 and exists (select from contact_lists l where l.account_id = f.account_id and l.id = f.list_id)`,
    [id],
    'find-public-form',
  )
  return row ? { ...formOf(row), accountId: row.accountId } : null
}
