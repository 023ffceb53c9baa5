import type { RowOf } from '../../store/column-types.ts'
import { statement } from '../../store/statement.ts'
import type { AccountSql } from '../../store/work.ts'

const reactionTypes = { opened: 'bool', clicked: 'bool' } as const

/** What the recipient of an email did. */
export type Reactions = RowOf<typeof reactionTypes>

const readOfMessages = statement(
  'read-reactions',
  {
    row: { id: 'text', ...reactionTypes },
    parameters: { accountId: 'text', ids: '_text' },
  },
  `select message_id as id, true as opened, bool_or(kind = 'click') as clicked from interactions
   where account_id = :accountId and message_id = any(:ids) and not is_bot group by message_id`,
)

/** Returns what the recipients of messages did, by message id. Machines do not count. */
export const readReactions = async (
  { sql, accountId }: AccountSql,
  ids: readonly string[],
): Promise<Map<string, Reactions>> => {
  const reactions = new Map(ids.map((id) => [id, { opened: false, clicked: false }]))
  for (const { id, ...done } of await sql(readOfMessages, { accountId, ids })) reactions.set(id, done)
  return reactions
}
