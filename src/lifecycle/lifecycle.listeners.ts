import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const countOfProject = statement<{ bindings: number }>(
  'count-bindings-of-project',
  { bindings: 'int8' },
  'select count(*) as bindings from lifecycle_bindings where account_id = $1 and project_id = $2',
)

/** Counts the bindings to a project. Their emails become plain ones when it is deleted. */
export const countBindings: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql(countOfProject, [accountId, projectId])
    return row!
  },
}
