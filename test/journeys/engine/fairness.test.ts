import { expect, test } from 'vitest'
import { journeyMails } from '../../../src/app/journeys.mail.ts'
import { runJourneys } from '../../../src/journeys/engine/runs.loop.ts'
import { useApp } from '../../support/app.ts'
import { journeyBench } from '../../support/journeys.ts'

const target = useApp()

const many = 20_000

const left = async (accountId: string) => {
  const [row] = await target.app.sql<{ count: number }>(
    `select count(*) from journey_runs where account_id = $1 and status in ('running', 'waiting')`,
    [accountId],
  )
  return row!.count
}

test('an account with 20,000 due runs does not delay the few runs of another', async () => {
  const [crowd, few] = [await journeyBench(target), await journeyBench(target)]
  const enter = async (bench: typeof crowd) => {
    const list = await bench.list('Leads')
    await bench.apply({
      name: 'J',
      trigger: { kind: 'list-added', list: 'Leads' },
      reentry: 'always',
      steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }],
    })
    await bench.add(list, ['a@example.com'])
  }
  await enter(crowd)
  await target.app.sql(
    `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
     select account_id, id || i, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at
     from journey_runs, generate_series(1, $2) i where account_id = $1`,
    [crowd.account.id, many],
  )
  const stop = new AbortController()
  const running = runJourneys(target.app, stop.signal, { sendMails: journeyMails(target.app) })
  while ((await left(crowd.account.id)) > many * 0.95) await new Promise((resolve) => setTimeout(resolve, 5))
  const before = await left(crowd.account.id)
  await enter(few)
  while ((await left(few.account.id)) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  // Relative to the large account's duration, because a busy machine slows down both.
  const after = await left(crowd.account.id)
  expect(after).toBeGreaterThan(0)
  expect(before - after).toBeLessThan(many / 10)
  stop.abort()
  await running
})
