import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

// A broadcast that was sent, also for a later time, keeps its version of the project.
const countDrafts = statement(
  'count-drafts-of-project',
  { row: { broadcasts: 'int8' }, parameters: { accountId: 'text', projectId: 'text' } },
  `select count(*) as broadcasts from broadcasts
   where account_id = :accountId and project_id = :projectId and status = 'draft'`,
)

const countUnsentOfSegment = statement(
  'count-unsent-broadcasts-of-segment',
  { row: { broadcasts: 'int8' }, parameters: { accountId: 'text', segmentId: 'text' } },
  `select count(*) as broadcasts from broadcasts
   where account_id = :accountId and status in ('draft', 'scheduled')
     and (segment_id = :segmentId or jsonb_path_exists(coalesce(audience, filter_names), '$.** ? (@ == $id)', jsonb_build_object('id', :segmentId::text)))`,
)

const countUnsentOfTopic = statement(
  'count-unsent-broadcasts-of-topic',
  { row: { broadcasts: 'int8' }, parameters: { accountId: 'text', topicId: 'text' } },
  `select count(*) as broadcasts from broadcasts
   where account_id = :accountId and topic_id = :topicId and status in ('draft', 'scheduled', 'sending')`,
)

/**
 * Counts the broadcasts that use something: of a project the drafts, of a segment the drafts and the scheduled ones, also if only their
 * filter names it, and of a topic also those that are being sent.
 */
export const countBroadcasts: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql(countDrafts, { accountId, projectId })
    return row!
  },
  async segmentUses({ sql, accountId }, segmentId) {
    const [row] = await sql(countUnsentOfSegment, { accountId, segmentId })
    return row!
  },
  async topicUses({ sql, accountId }, topicId) {
    const [row] = await sql(countUnsentOfTopic, { accountId, topicId })
    return row!
  },
}
