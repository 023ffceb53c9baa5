import type { HeldPart } from '../store/work.ts'

/** What an address did with its mails, and how engaged that makes it. */
export const held: readonly HeldPart[] = [
  {
    name: 'interactions',
    read: ({ sql, accountId }, email) =>
      sql(
        `select id, kind, nullif(block_id, '') as "blockId", value, is_bot as "isBot", message_id as "messageId",
           project_id as "projectId", (extract(epoch from at) * 1000)::int8 as at
         from interactions where account_id = $1 and email = $2 order by id`,
        [accountId, email],
      ),
  },
  {
    name: 'leadScore',
    read: ({ sql, accountId }, email) =>
      sql(
        `select points, (extract(epoch from at) * 1000)::int8 as at from lead_scores where account_id = $1 and email = $2`,
        [accountId, email],
      ),
  },
]
