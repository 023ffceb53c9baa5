import type { Listener } from '../store/work.ts'

/** Counts the drafts and scheduled broadcasts of a project. */
export const countBroadcasts: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql<{ broadcasts: number }>(
      `select count(*) as broadcasts from broadcasts
       where account_id = $1 and project_id = $2 and status in ('draft', 'scheduled')`,
      [accountId, projectId],
    )
    return row!
  },
}
