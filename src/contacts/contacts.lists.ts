import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { conflict, invalid, missing } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { isDuplicate } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { normalizeFields } from './contacts.fields.ts'
import { roomLeft } from './contacts.room.ts'

export const NewList = z.object({ name: text(200), fields: z.array(text(1_000)).optional() })

/** The ContactList of api.md section 2; times in epoch ms. */
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

/** Of a list (api.md section 8). */
export const maxColumns = 40

/** `fields` with the names that are new to them at their end. Throws `invalid` past 40 (api.md section 8). */
export const extendColumns = (fields: readonly string[], names: Iterable<string>): string[] => {
  const extended = [...new Set([...fields, ...names])]
  if (extended.length > maxColumns) throw invalid(`A list can have at most ${maxColumns} columns`)
  return extended
}

/** Every list of the account, ordered by name. */
export const listLists = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>): Promise<ContactListView[]> =>
  (
    await sql<Row>(
      `select ${columns} from contact_lists where account_id = $1 order by name, id`,
      [accountId],
      'list-lists',
    )
  ).map(view)

/** Throws Problem `missing`, for another account's list just as for none (api.md section 5). */
export const demandList = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  id: string,
): Promise<{ name: string; fields: string[] }> => {
  const [list] = await sql<{ name: string; fields: string[] }>(
    'select name, fields from contact_lists where account_id = $1 and id = $2',
    [accountId, id],
    'demand-list',
  )
  if (!list) throw missing('There is no such list')
  return list
}

/** A list for who writes contacts into it. */
export interface OpenList {
  id: string
  name: string
  fields: string[]
  /** Places that the account's plan had left; null: no limit. */
  room: number | null
  /** Whether mail has shown anything of any address of the account. */
  hasFindings: boolean
}

/**
 * Opens a list for who writes contacts into it. Not locked: that it is still there shows when they are counted. Throws Problem
 * `missing`, as `demandList`.
 */
export const openList = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>, id: string): Promise<OpenList> => {
  const [list] = await sql<OpenList>(
    `select l.id, l.name, l.fields, ${roomLeft} as room,
       exists (select from address_findings where account_id = $1) as "hasFindings"
     from contact_lists l where l.account_id = $1 and l.id = $2`,
    [accountId, id],
    'open-list',
  )
  if (!list) throw missing('There is no such list')
  return list
}

/** By id, else by name. Throws Problem `missing`. */
export const findList = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  ref: string,
): Promise<ContactListView> => {
  const [list] = await sql<Row>(
    `select ${columns} from contact_lists where account_id = $1 and (id = $2 or name = $2) order by id = $2 desc limit 1`,
    [accountId, ref],
  )
  if (!list) throw missing(`There is no list ${ref}`, { hint: 'svc lists list' })
  return view(list)
}

const nameOf = (given: string): string => {
  const name = given.trim()
  if (!name) throw invalid('name is required')
  return name
}

/** Throws Problem `conflict` where the name is taken, `invalid` where the columns can't stand. */
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
  if (!list) throw conflict(`There is already a list named ${name}`)
  return view(list)
}

/** Throws Problem `missing`, or `conflict` where the name is taken. */
export const renameList = async (work: Work, ref: string, newName: string): Promise<ContactListView> => {
  const { id } = await findList(work, ref)
  const name = nameOf(newName)
  const rename = `update contact_lists set name = $3, updated_at = case when name = $3 then updated_at else $4 end
    where account_id = $1 and id = $2 returning ${columns}`
  const [list] = await work.sql<Row>(rename, [work.accountId, id, name, work.now]).catch((error) => {
    throw isDuplicate(error) ? conflict(`There is already a list named ${name}`) : error
  })
  if (!list) throw missing('There is no such list')
  return view(list)
}
