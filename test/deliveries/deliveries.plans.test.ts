import { beforeAll, describe, expect, test } from 'vitest'
import { type DeliveryFilter, deliveryStats, listDeliveries } from '../../src/deliveries/deliveries.find.ts'
import { valuesOf } from '../../src/store/statement.ts'
import { disableWebhook } from '../../src/webhooks/webhooks.ts'
import { useAccount, useApp } from '../support/app.ts'
import { textOf } from '../support/database.ts'
import { endPending, subscribe } from '../support/deliveries.ts'
import { backlog } from '../support/neighbours.ts'

// These tests check how much lists and counts read for an account with a long history and many pending deliveries.

let small: string

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const account = useAccount(t)
beforeAll(async () => {
  const make = async () => (await subscribe(t.app, account.id, 'http://127.0.0.1:9/')).id
  const [big, ended] = [await make(), await make()]
  small = await make()
  await backlog(t.app, account.id, [small], 5)
  await endPending(t.app, account.id, 'exhausted')
  await backlog(t.app, account.id, [big], 30_000)
  await endPending(t.app, account.id, 'delivered')
  await backlog(t.app, account.id, [small], 5)
  await backlog(t.app, account.id, [big], 20_000)
  await t.app.work(account.id, 'cli:test', (work) => disableWebhook(work, ended))
  await backlog(t.app, account.id, [ended], 5)
  await t.app.sql('vacuum analyze ended_deliveries')
  await t.app.sql('vacuum analyze pending_deliveries')
  await t.app.sql('analyze delivery_targets')
})

interface Plan {
  'Node Type': string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Returns the nodes of the query plan of the last statement of `run`. */
const planned = (run: (work: Parameters<typeof listDeliveries>[0]) => Promise<unknown>): Promise<Plan[]> =>
  t.app.work(account.id, 'cli:test', async (work) => {
    let found: Plan[] = []
    const sql = (async (query: Parameters<typeof work.sql>[0], values?: unknown[]) => {
      const [row] = await work.sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `explain (analyze, timing off, format json) ${textOf(query)}`,
        valuesOf(query, values),
      )
      found = nodesOf(row!['QUERY PLAN'][0].Plan)
      return work.sql(query, values as never)
    }) as typeof work.sql
    await run({ ...work, sql })
    return found
  })

const rowsOf = (node: Plan): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0)) *
  node['Actual Loops']

describe('an index is used to read a page of deliveries', () => {
  test.each<[string, () => DeliveryFilter]>([
    ['of all kinds', () => ({})],
    ['of a rare status', () => ({ status: 'exhausted' })],
    ['that are pending', () => ({ status: 'pending' })],
    ['that are cancelled', () => ({ status: 'cancelled' })],
    ['of one webhook', () => ({ webhook: small })],
    ['of one webhook and status', () => ({ webhook: small, status: 'delivered' })],
    ['of the last hour', () => ({ since: Date.now() - 3_600_000 })],
  ])('%s', async (_, filter) => {
    const nodes = await planned((work) => listDeliveries(work, filter(), { limit: 50 }))
    expect(Math.max(...nodes.map(rowsOf))).toBeLessThan(500)
  })
})

test('counts read the indexes by target and status, and scan no table', async () => {
  const nodes = await planned((work) => deliveryStats(work, {}))
  const indexes = nodes.flatMap((node) => node['Index Name'] ?? [])
  expect(indexes).toEqual(
    expect.arrayContaining(['pending_deliveries_due_index', 'ended_deliveries_account_id_target_id_status_id_index']),
  )
  expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
})
