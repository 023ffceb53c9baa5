import { byName } from '../lib/names.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql } from '../store/work.ts'
import { topics } from './suppressions.columns.ts'
import { isTopic } from './suppressions.rows.ts'

const viewColumns = columns(topics, ['id', 'name', 'description'])
const viewList = `${viewColumns.list}, ${epochMs('created_at')} as "createdAt"`
const viewTypes = { ...viewColumns.types, createdAt: 'int8' } as const

/** A topic (docs/reference/mail.md#topics). `description` is empty if it has none; times in epoch ms. */
export type TopicView = RowOf<typeof viewTypes>

const readTopics = statement(
  'read-topics',
  { row: viewTypes, parameters: { accountId: 'text' } },
  `select ${viewList} from topics where account_id = :accountId and deleted_at is null order by id`,
)

/** Returns the account's topics, by name. */
export const listTopics = async ({ sql, accountId }: AccountSql): Promise<TopicView[]> =>
  (await sql(readTopics, { accountId })).sort(byName('name'))

const readTopic = statement(
  'read-topic',
  { row: viewTypes, parameters: { accountId: 'text', ref: 'text' } },
  `select ${viewList} from topics where account_id = :accountId and (id = :ref or name = :ref) and deleted_at is null
   order by id = :ref desc limit 1`,
)

// SQL instead of the entity: commands of other features begin with this lookup, and would otherwise load MikroORM.
/** Finds a topic by id, else by name. Throws Problem `not_found`. */
export const findTopic = async ({ sql, accountId }: AccountSql, ref: string): Promise<TopicView> => {
  const [topic] = await sql(readTopic, { accountId, ref })
  if (!topic) throw noSuch('topic', ref, { hint: 'svc topics list' })
  return topic
}

const lockTopic = statement(
  'keep-topic',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from topics where account_id = :accountId and id = :id and deleted_at is null for key share',
)

/** Finds a topic by id, else by name, and keeps it from being deleted until the end of the transaction. Throws Problem `not_found`. */
export const keepTopic = async (work: AccountSql, ref: string): Promise<TopicView> => {
  const topic = await findTopic(work, ref)
  const locked = await work.sql(lockTopic, { accountId: work.accountId, id: topic.id })
  return locked.length > 0 ? topic : findTopic(work, ref)
}

const readId = preparedStatement(
  'has-topic',
  { parameters: { accountId: 'text', id: 'text' } },
  `select where ${isTopic(':accountId', ':id')}`,
)

export const hasTopicId = async ({ sql, accountId }: AccountSql, id: string): Promise<boolean> =>
  (await sql(readId, { accountId, id })).length > 0
