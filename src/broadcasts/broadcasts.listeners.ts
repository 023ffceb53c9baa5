import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const countUnsent = statement<{ broadcasts: number }>(
  'count-unsent-broadcasts-of-project',
  { broadcasts: 'int8' },
  `select count(*) as broadcasts from broadcasts
   where account_id = $1 and project_id = $2 and status in ('draft', 'scheduled')`,
)

const countUnsentOfSegment = statement<{ broadcasts: number }>(
  'count-unsent-broadcasts-of-segment',
  { broadcasts: 'int8' },
  `select count(*) as broadcasts from broadcasts
   where account_id = $1 and status in ('draft', 'scheduled')
     and (segment_id = $2 or jsonb_path_exists(coalesce(audience, filter_names), '$.** ? (@ == $id)', jsonb_build_object('id', $2::text)))`,
)

const countUnsentOfTopic = statement<{ broadcasts: number }>(
  'count-unsent-broadcasts-of-topic',
  { broadcasts: 'int8' },
  `select count(*) as broadcasts from broadcasts
   where account_id = $1 and topic_id = $2 and status in ('draft', 'scheduled', 'sending')`,
)

/**
 * Counts the drafts and scheduled broadcasts of a project, and of a segment, also one that a filter names; of a topic also those that
 * are being sent.
 */
export const countBroadcasts: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql(countUnsent, [accountId, projectId])
    return row!
  },
  async segmentUses({ sql, accountId }, segmentId) {
    const [row] = await sql(countUnsentOfSegment, [accountId, segmentId])
    return row!
  },
  async topicUses({ sql, accountId }, topicId) {
    const [row] = await sql(countUnsentOfTopic, [accountId, topicId])
    return row!
  },
}
