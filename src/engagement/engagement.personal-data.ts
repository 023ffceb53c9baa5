import type { PersonalDataPart } from '../store/work.ts'

/** The interactions and the lead score of an address, in the export of its personal data. */
export const personalData: readonly PersonalDataPart[] = [
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
