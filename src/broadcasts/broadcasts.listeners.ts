import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const countUnsent = statement<{ broadcasts: number }>(
  'count-unsent-broadcasts-of-project',
  { broadcasts: 'int8' },
  `select count(*) as broadcasts from broadcasts
   where account_id = $1 and project_id = $2 and status in ('draft', 'scheduled')`,
)

/** Counts the drafts and scheduled broadcasts of a project. */
export const countBroadcasts: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql(countUnsent, [accountId, projectId])
    return row!
  },
}
