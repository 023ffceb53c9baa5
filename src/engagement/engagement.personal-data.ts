import { typed } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'

const readInteractions = statement(
  'interactions-of-address',
  {
    row: {
      id: 'text',
      kind: 'text',
      blockId: 'text?',
      value: typed<unknown>('jsonb'),
      isBot: 'bool',
      messageId: 'text',
      projectId: 'text',
      at: 'int8',
    },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select id, kind, nullif(block_id, '') as "blockId", value, is_bot as "isBot", message_id as "messageId",
     project_id as "projectId", ${epochMs('at')} as at
   from interactions where account_id = :accountId and email = :email order by id`,
)

const readScore = statement(
  'lead-score-of-address',
  { row: { points: 'float8', at: 'int8' }, parameters: { accountId: 'text', email: 'text' } },
  `select points, ${epochMs('at')} as at from lead_scores where account_id = :accountId and email = :email`,
)

/** The interactions and the lead score of an address, in the export of its personal data. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'interactions',
    read: ({ sql, accountId }, email) => sql(readInteractions, { accountId, email }),
  },
  {
    name: 'leadScore',
    read: ({ sql, accountId }, email) => sql(readScore, { accountId, email }),
  },
]
