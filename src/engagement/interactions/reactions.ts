import type { RowOf } from '../../store/column-types.ts'
import { statement } from '../../store/statement.ts'
import type { AccountSql } from '../../store/work.ts'

const reactionTypes = { opened: 'bool', clicked: 'bool' } as const

/** What the recipient of an email did. */
type Reactions = RowOf<typeof reactionTypes>

const readOfMessages = statement(
  'read-reactions',
  {
    row: { id: 'text', ...reactionTypes },
    parameters: { accountId: 'text', ids: '_text' },
  },
  `select message_id as id, true as opened, bool_or(kind = 'click') as clicked from interactions
   where account_id = :accountId and message_id = any(:ids) and not is_bot group by message_id`,
)

/** Returns messages with what their recipients did. Machines do not count. */
export const withReactions = async <Row extends { id: string }>(
  { sql, accountId }: AccountSql,
  messages: readonly Row[],
): Promise<(Row & Reactions)[]> => {
  const reactions = await sql(readOfMessages, { accountId, ids: messages.map(({ id }) => id) })
  const byId = new Map(reactions.map(({ id, ...done }) => [id, done]))
  return messages.map((message) => ({ ...message, ...(byId.get(message.id) ?? { opened: false, clicked: false }) }))
}
