import { z } from 'zod'
import { newId } from '../../lib/ids.ts'
import { byName } from '../../lib/names.ts'
import { conflict, invalid, noSuch, notFound, shown } from '../../lib/problem.ts'
import { text } from '../../lib/text.ts'
import { isDuplicate } from '../../store/database.ts'
import type { Work } from '../../store/work.ts'
import { maxColumns, normalizeFields, tooManyColumns } from '../contacts.fields.ts'

export const NewList = z.object({ name: text(200), fields: z.array(text(1_000)).optional() })

/** ContactList (docs/reference/api.md#contactlist); times in epoch ms. */
export interface ContactListView {
  id: string
  name: string
  fields: string[]
  rowCount: number
  createdAt: number
  updatedAt: number
}

type Row = Omit<ContactListView, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

const columns = 'id, name, fields, row_count as "rowCount", created_at as "createdAt", updated_at as "updatedAt"'

const view = ({ createdAt, updatedAt, ...list }: Row): ContactListView => ({
  ...list,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** Returns `fields` with new names appended. Throws Problem `invalid` above 40 columns (docs/reference/limits.md#field-sizes). */
export const extendColumns = (fields: readonly string[], names: Iterable<string>): string[] => {
  const extended = [...new Set([...fields, ...names])]
  if (extended.length > maxColumns) throw tooManyColumns()
  return extended
}

/** Returns every list of the account, ordered by name. */
export const listLists = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>): Promise<ContactListView[]> =>
  (await sql<Row>(`select ${columns} from contact_lists where account_id = $1 order by id`, [accountId], 'list-lists'))
    .sort(byName('name'))
    .map(view)

/** Returns the list. Throws Problem `not_found`, also for a list of another account (docs/reference/api.md#authentication). */
export const requireList = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  id: string,
): Promise<{ name: string; fields: string[] }> => {
  const [list] = await sql<{ name: string; fields: string[] }>(
    'select name, fields from contact_lists where account_id = $1 and id = $2',
    [accountId, id],
    'demand-list',
  )
  if (!list) throw notFound('There is no such list')
  return list
}

/** Finds a list by id, else by name. Throws Problem `not_found`. */
export const findList = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  ref: string,
): Promise<ContactListView> => {
  const [list] = await sql<Row>(
    `select ${columns} from contact_lists where account_id = $1 and (id = $2 or name = $2) order by id = $2 desc limit 1`,
    [accountId, ref],
  )
  if (!list) throw noSuch('list', ref, { hint: 'svc lists list' })
  return view(list)
}

/** Counts the active contacts of a list. Returns null if the account has no such list, for example because it was deleted. */
export const countActive = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  listId: string,
): Promise<number | null> => {
  const [row] = await sql<{ count: number; hasList: boolean }>(
    `select count(*), exists (select from contact_lists where account_id = $1 and id = $2) as "hasList"
     from contacts where account_id || '' = $1 and list_id = $2 and status = 'active'`,
    [accountId, listId],
  )
  return row!.hasList ? row!.count : null
}

const nameOf = (given: string): string => {
  const name = given.trim()
  if (!name) throw invalid('name is required')
  return name
}

/** Throws Problem `conflict` if the name is taken, `invalid` for invalid columns. */
export const createList = async (
  { sql, accountId, now }: Work,
  input: z.output<typeof NewList>,
): Promise<ContactListView> => {
  const name = nameOf(input.name)
  const names = (input.fields ?? []).flatMap((field) => Object.keys(normalizeFields({ [field]: '' })))
  const [list] = await sql<Row>(
    `insert into contact_lists (id, account_id, name, fields, row_count, created_at, updated_at)
     values ($1, $2, $3, $4, 0, $5, $5) on conflict (account_id, name) do nothing returning ${columns}`,
    [newId('lst', now.getTime()), accountId, name, extendColumns([], names), now],
  )
  if (!list) throw conflict(`There is already a list named ${shown(name)}`)
  return view(list)
}

/** Throws Problem `not_found`, or `conflict` if the name is taken. */
export const renameList = async (work: Work, ref: string, newName: string): Promise<ContactListView> => {
  const { id } = await findList(work, ref)
  const name = nameOf(newName)
  const rename = `update contact_lists set name = $3, updated_at = case when name = $3 then updated_at else $4 end
    where account_id = $1 and id = $2 returning ${columns}`
  const [list] = await work.sql<Row>(rename, [work.accountId, id, name, work.now]).catch((error) => {
    throw isDuplicate(error) ? conflict(`There is already a list named ${shown(name)}`) : error
  })
  if (!list) throw notFound('There is no such list')
  return view(list)
}
