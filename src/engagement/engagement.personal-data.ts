import { statement } from '../store/statement.ts'
import type { PersonalDataPart } from '../store/work.ts'

const readInteractions = statement<{
  id: string
  kind: string
  blockId: string | null
  value: unknown
  isBot: boolean
  messageId: string
  projectId: string
  at: number
}>(
  'interactions-of-address',
  {
    id: 'text',
    kind: 'text',
    blockId: 'text',
    value: 'jsonb',
    isBot: 'bool',
    messageId: 'text',
    projectId: 'text',
    at: 'int8',
  },
  `select id, kind, nullif(block_id, '') as "blockId", value, is_bot as "isBot", message_id as "messageId",
     project_id as "projectId", (extract(epoch from at) * 1000)::int8 as at
   from interactions where account_id = $1 and email = $2 order by id`,
)

const readScore = statement<{ points: number; at: number }>(
  'lead-score-of-address',
  { points: 'float8', at: 'int8' },
  `select points, (extract(epoch from at) * 1000)::int8 as at from lead_scores where account_id = $1 and email = $2`,
)

/** The interactions and the lead score of an address, in the export of its personal data. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'interactions',
    read: ({ sql, accountId }, email) => sql(readInteractions, [accountId, email]),
  },
  {
    name: 'leadScore',
    read: ({ sql, accountId }, email) => sql(readScore, [accountId, email]),
  },
]
