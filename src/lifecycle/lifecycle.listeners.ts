import type { Listener } from '../store/work.ts'

/** Counts the bindings to a project. Their emails become plain ones when it is deleted. */
export const countBindings: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql<{ bindings: number }>(
      'select count(*) as bindings from lifecycle_bindings where account_id = $1 and project_id = $2',
      [accountId, projectId],
    )
    return row!
  },
}
