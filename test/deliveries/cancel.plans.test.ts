import { beforeAll, beforeEach, expect, test } from 'vitest'
import { statements, valuesOf } from '../../src/store/statement.ts'
import { useAccount, useApp } from '../support/app.ts'
import { textOf } from '../support/database.ts'
import { subscribe } from '../support/deliveries.ts'
import { backlog } from '../support/neighbours.ts'
import { loadStatements } from '../support/statements.ts'

// A queue is often empty when the server analyzes it. The planner then expects one row, also when there are many.

const count = 5000
let id: string

await loadStatements()
const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const account = useAccount(t)
beforeAll(async () => {
  id = (await subscribe(t.app, account.id, 'http://127.0.0.1:9/')).id
})
beforeEach(async () => {
  await backlog(t.app, account.id, [id], count)
  await t.app.sql('delete from pending_deliveries')
  await t.app.sql('vacuum (analyze, truncate false) pending_deliveries')
  await backlog(t.app, account.id, [id], count)
})

/** Returns how many pairs of rows the statement compares in vain. */
const comparisonsOf = async (name: string, values: object): Promise<number> => {
  const statement = statements.get(name)!
  const lines = await t.app.sql<{ 'QUERY PLAN': string }>(
    `explain (analyze, timing off) ${textOf(statement)}`,
    valuesOf(statement, values),
  )
  const found = lines.map((line) => /Rows Removed by Join Filter: (\d+)/.exec(line['QUERY PLAN'])?.[1] ?? '0')
  return found.reduce((sum, rows) => sum + Number(rows), 0)
}

test('the end of a target compares no delivery with others', async () => {
  const values = { accountId: account.id, ids: [id] }
  expect(await comparisonsOf('cancel-deliveries-of-targets', values)).toBe(0)
  expect(await t.app.sql('select from pending_deliveries')).toEqual([])
})

test('what the end has left is cancelled without comparisons', async () => {
  await t.app.sql(`update delivery_targets set status = 'disabled' where id = $1`, [id])
  expect(await comparisonsOf('cancel-leftovers', { id, since: '-infinity' })).toBe(0)
  expect(await t.app.sql('select from pending_deliveries')).toHaveLength(count - 1000)
})
