import { missing } from '../lib/problem.ts'
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

/** A form as it is shown: with where it is hosted. */
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

/** `publicUrl` is the daemon's. */
export const viewForm = (
  { id, name, listId, fields, doubleOptIn, origins, createdAt, updatedAt }: Form,
  publicUrl: string,
): FormView => ({ id, name, listId, fields, doubleOptIn, origins, url: `${publicUrl}/f/${id}`, createdAt, updatedAt })

/** Every form of the account, ordered by name. */
export const listForms = async ({ sql, accountId }: Reader): Promise<Form[]> =>
  (await sql<Row>(`select ${columns} from forms f where f.account_id = $1 order by f.name, f.id`, [accountId])).map(
    formOf,
  )

/** The forms, of which there are at most two, that have the id or the name; that with the id first. */
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

/** By id, else by name. Throws Problem `missing`, for another account's form just as for none. */
export const findForm = async (reader: Reader, ref: string): Promise<Form> => {
  const [form] = await formsNamed(reader, { id: ref, name: ref })
  if (!form) throw missing(`There is no form ${ref}`, { hint: 'svc forms list' })
  return form
}

/** A form as anybody finds it who knows its id. */
export interface PublicForm extends Form {
  accountId: string
}

/** By id alone, which is all that the public has. null where there is none, its list is gone, or its account. */
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
