import { isList } from '../contacts/contacts.rows.ts'
import { byName } from '../lib/names.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql } from '../store/work.ts'

const columns = `id, name, list_id as "listId", filter as "where", ${epochMs('created_at')} as "createdAt",
  ${isList('list_id')} as "hasList"`

const types = { id: 'text', name: 'text', listId: 'text', where: 'text', createdAt: 'int8', hasList: 'bool' } as const

type Row = RowOf<typeof types>

/** A segment (docs/reference/segments.md). If its list was deleted, it can only be deleted too. */
export type SegmentView = Omit<Row, 'hasList'> & { listDeleted?: true }

const view = ({ hasList, ...segment }: Row): SegmentView => ({
  ...segment,
  ...(!hasList && { listDeleted: true }),
})

const readSegments = statement(
  'read-segments',
  { row: types, parameters: { accountId: 'text' } },
  `select ${columns} from segments where account_id = :accountId order by id`,
)

/** Returns the account's segments, by name. */
export const listSegments = async ({ sql, accountId }: AccountSql): Promise<SegmentView[]> =>
  (await sql(readSegments, { accountId })).map(view).sort(byName('name'))

const readSegment = statement(
  'read-segment',
  { row: types, parameters: { accountId: 'text', ref: 'text' } },
  `select ${columns} from segments where account_id = :accountId and (id = :ref or name = :ref) order by id = :ref desc limit 1`,
)

// SQL instead of the entity: commands of other features begin with this lookup, and would otherwise load MikroORM.
/** Finds a segment by id, else by name. Throws Problem `not_found`. */
export const findSegment = async ({ sql, accountId }: AccountSql, ref: string): Promise<SegmentView> => {
  const [segment] = await sql(readSegment, { accountId, ref })
  if (!segment) throw noSuch('segment', ref, { hint: 'svc segments list' })
  return view(segment)
}

/** Finds a segment by id. Throws Problem `not_found`. */
export const findSegmentById = async (work: AccountSql, id: string): Promise<SegmentView> => {
  const segment = await findSegment(work, id)
  if (segment.id !== id) throw notFound('There is no such segment')
  return segment
}

const lockSegment = statement(
  'keep-segment',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from segments where account_id = :accountId and id = :id for key share',
)

/** Finds a segment by id, else by name, and keeps it from being deleted until the end of the transaction. Throws Problem `not_found`. */
export const keepSegment = async (work: AccountSql, ref: string): Promise<SegmentView> => {
  const segment = await findSegment(work, ref)
  const locked = await work.sql(lockSegment, { accountId: work.accountId, id: segment.id })
  return locked.length > 0 ? segment : findSegment(work, ref)
}
