import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

const countOfProject = statement(
  'count-bindings-of-project',
  { row: { bindings: 'int8' }, parameters: { accountId: 'text', projectId: 'text' } },
  'select count(*) as bindings from lifecycle_bindings where account_id = :accountId and project_id = :projectId',
)

/** Counts the bindings to a project. Their emails become plain ones when it is deleted. */
export const countBindings: Listener = {
  async projectUses({ sql, accountId }, projectId) {
    const [row] = await sql(countOfProject, { accountId, projectId })
    return row!
  },
}
