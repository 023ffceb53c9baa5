import { z } from 'zod'
import { newId } from '../../lib/ids.ts'
import { lockKey } from '../../lib/locks.ts'
import { byName } from '../../lib/names.ts'
import { conflict, invalid, noSuch, notFound, shown } from '../../lib/problem.ts'
import { text } from '../../lib/text.ts'
import type { RowOf } from '../../store/column-types.ts'
import { isDuplicate } from '../../store/database.ts'
import { type InEpochMs, inEpochMs } from '../../store/epoch-ms.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import { contactLists } from '../contacts.columns.ts'
import { type Fields, maxColumns, normalizeFields, tooManyColumns } from '../contacts.fields.ts'

export const NewList = z.object({ name: text(200), fields: z.array(text(1_000)).optional() })

const shownColumns = columns(contactLists, ['id', 'name', 'fields', 'rowCount', 'createdAt', 'updatedAt'])

/** ContactList (docs/reference/api.md#contactlist). */
export type ContactListView = InEpochMs<RowOf<typeof shownColumns.types>>

const readLists = preparedStatement(
  'list-lists',
  { row: shownColumns.types, parameters: { accountId: 'text' } },
  `select ${shownColumns.list} from contact_lists where account_id = :accountId order by id`,
)

const isAddress = (name: string): boolean => name.toLowerCase() === 'email'

/**
 * Returns `fields` with new names appended. Throws Problem `invalid` above 40 columns (docs/reference/limits.md#field-sizes),
 * and for a new column `Email` in any case.
 */
export const extendColumns = (fields: readonly string[], names: Iterable<string>): string[] => {
  const extended = [...new Set([...fields, ...names])]
  if (extended.length > maxColumns) throw tooManyColumns()
  const address = extended.slice(new Set(fields).size).find(isAddress)
  if (address !== undefined) throw invalid(`A list can't have a column named ${address}: email is the address itself`)
  return extended
}

/** Returns the fields that are among the columns, or that `extendColumns` can add to them. If there is too little room, the first ones are kept. */
export const fieldsWithRoom = (columns: readonly string[], fields: Fields): Fields => {
  const kept = new Set(columns)
  for (const name in fields) if (kept.size < maxColumns && !isAddress(name)) kept.add(name)
  return Object.fromEntries(Object.entries(fields).filter(([name]) => kept.has(name)))
}

/** Returns every list of the account, ordered by name. */
export const listLists = async ({ sql, accountId }: AccountSql): Promise<ContactListView[]> =>
  (await sql(readLists, { accountId })).sort(byName('name')).map(inEpochMs)

const readListById = preparedStatement(
  'require-list',
  { row: types(contactLists, 'name', 'fields'), parameters: { accountId: 'text', id: 'text' } },
  'select name, fields from contact_lists where account_id = :accountId and id = :id',
)

/** Returns the list. Throws Problem `not_found`, also for a list of another account (docs/reference/api.md#authentication). */
export const requireList = async (
  { sql, accountId }: AccountSql,
  id: string,
): Promise<{ name: string; fields: string[] }> => {
  const [list] = await sql(readListById, { accountId, id })
  if (!list) throw notFound('There is no such list')
  return list
}

const readList = statement(
  'find-list',
  { row: shownColumns.types, parameters: { accountId: 'text', ref: 'text' } },
  `select ${shownColumns.list} from contact_lists where account_id = :accountId and (id = :ref or name = :ref) order by id = :ref desc limit 1`,
)

// SQL instead of the entity: imports and commands of other features begin with this lookup, and would otherwise load MikroORM.
/** Finds a list by id, else by name. Throws Problem `not_found`. */
export const findList = async ({ sql, accountId }: AccountSql, ref: string): Promise<ContactListView> => {
  const [list] = await sql(readList, { accountId, ref })
  if (!list) throw noSuch('list', ref, { hint: 'svc lists list' })
  return inEpochMs(list)
}

const countActiveOf = statement(
  'count-active-contacts',
  { row: { count: 'int8', hasList: 'bool' }, parameters: { accountId: 'text', listId: 'text' } },
  `select count(*), exists (select from contact_lists where account_id = :accountId and id = :listId) as "hasList"
   from contacts where account_id || '' = :accountId and list_id = :listId and status = 'active'`,
)

/** Counts the active contacts of a list. Returns null if the account has no such list, for example because it was deleted. */
export const countActive = async ({ sql, accountId }: AccountSql, listId: string): Promise<number | null> => {
  const [row] = await sql(countActiveOf, { accountId, listId })
  return row!.hasList ? row!.count : null
}

const nameOf = (given: string): string => {
  const name = given.trim()
  if (!name) throw invalid('name is required')
  return name
}

const nameTaken = (name: string) => conflict(`There is already a list named ${shown(name)}`)

const lockNames = statement(
  'lock-names-of-lists',
  { row: { locked: 'void' }, parameters: { accountId: 'text' } },
  `select pg_advisory_xact_lock(${lockKey('lists', ':accountId')}) as locked`,
)

const readNames = statement(
  'names-of-lists',
  { row: { id: 'text', name: 'text' }, parameters: { accountId: 'text' } },
  'select id, name from contact_lists where account_id = :accountId',
)

/**
 * Throws Problem `conflict` if another list has the name, in any case. No other transaction adds or changes a name until the
 * end of the unit of work. Older lists may have names that differ only by case.
 */
export const requireFreeName = async ({ sql, accountId }: Work, name: string, ownId?: string): Promise<void> => {
  await sql(lockNames, { accountId })
  const namesake = (await sql(readNames, { accountId })).find(
    (list) => list.id !== ownId && list.name.toLowerCase() === name.toLowerCase(),
  )
  if (namesake) throw nameTaken(namesake.name)
}

const entitiesOf = (work: Work) => work.em(import('../contacts.entities.ts'))

// SQL instead of the entity: an import that creates its list would keep MikroORM in memory until its end, 23 MB.
const newColumns = columns(contactLists, ['id', 'accountId', 'name', 'fields', 'rowCount', 'createdAt', 'updatedAt'])

const insertList = statement(
  'insert-list',
  { row: types(contactLists, 'id'), parameters: newColumns.types },
  `insert into contact_lists (${newColumns.names}) values (${newColumns.values}) on conflict (account_id, name) do nothing returning id`,
)

/** Throws Problem `conflict` if the name is taken, `invalid` for invalid columns. The unit of work can continue after a conflict. */
export const createList = async (work: Work, input: z.output<typeof NewList>): Promise<ContactListView> => {
  const { sql, accountId, now } = work
  const name = nameOf(input.name)
  const names = (input.fields ?? []).flatMap((field) => Object.keys(normalizeFields({ [field]: '' })))
  const fields = extendColumns([], names)
  await requireFreeName(work, name)
  const list = { id: newId('lst', now.getTime()), name, fields, rowCount: 0, createdAt: now, updatedAt: now }
  const [inserted] = await sql(insertList, { ...list, accountId })
  if (!inserted) throw nameTaken(name)
  return inEpochMs(list)
}

/** Throws Problem `not_found`, or `conflict` if the name is taken. */
export const renameList = async (work: Work, ref: string, newName: string): Promise<ContactListView> => {
  const list = await findList(work, ref)
  const name = nameOf(newName)
  if (name === list.name) return list
  await requireFreeName(work, name, list.id)
  const [em, { ContactList }] = await entitiesOf(work)
  const change = { name, updatedAt: work.now }
  const renamed = await em.nativeUpdate(ContactList, { id: list.id }, change).catch((error) => {
    throw isDuplicate(error) ? nameTaken(name) : error
  })
  if (renamed === 0) throw notFound('There is no such list')
  return { ...list, name, updatedAt: work.now.getTime() }
}
