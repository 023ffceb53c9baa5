import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { countOwned } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { useApp } from '../support/app.ts'
import { startSvc, svc } from '../support/cli.ts'
import { countsOf } from '../support/database.ts'
import { emitEvents, eventually } from '../support/deliveries.ts'
import { holdUp } from '../support/hold.ts'
import { addDeliveries, furnish, nothing, remains } from './support.ts'

const t = useApp()
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0)

test('the same command continues after a kill; an interruption stops it after the current batch, with a note', async () => {
  const account = await t.account()
  // Five batches of events, and five of deliveries.
  const total = 5000
  await addDeliveries(t, account.id, total)
  const args = ['accounts', 'delete', account.name, '--confirm', account.name, '--json']
  const hold = () => holdUp(t, 'delete on ended_deliveries', { after: 1500 })
  const first = await hold()
  const killed = startSvc(t, args)
  await first.reached()
  killed.kill('SIGKILL')
  await once(killed, 'close')
  await first.end()
  await eventually(async () => {
    const [row] = await t.app.sql(
      `select from pg_stat_activity where application_name like 'svc cli %' and datname = current_database()`,
    )
    return !row
  })
  const left = await countOwned(t.app, account.id)
  expect([left.ended_deliveries! > 0, left.ended_deliveries! < total]).toEqual([true, true])
  const second = await hold()
  const stopped = startSvc(t, args)
  let out = ''
  stopped.stdout.on('data', (text) => {
    out += text
  })
  let told = ''
  stopped.stderr.on('data', (text) => {
    told += text
  })
  await second.reached()
  stopped.kill('SIGINT')
  await second.release()
  expect((await once(stopped, 'close'))[0]).toBe(130)
  expect(told).toContain('Run the same command again to continue')
  const rest = await countOwned(t.app, account.id)
  expect(sum(JSON.parse(out).deleted)).toBe(sum(left) - sum(rest))
  const ran = await svc(t, args)
  expect(ran).toMatchObject({ status: 0, json: { id: account.id, deleted: rest } })
  expect(await remains(t, account)).toEqual(nothing)
})

const percentile = (values: readonly number[], p: number) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length * p) / 100)]!

test('the deletion of 40,000 rows hardly slows down another account', async () => {
  const neighbour = await furnish(t)
  const account = await t.account()
  await addDeliveries(t, account.id, 20_000)
  let written = 0
  const post = async () => {
    const start = performance.now()
    const body = { listId: neighbour.listId, email: `n${++written}@gone.example`, fields: { n: written } }
    expect((await t.request('POST', '/contacts', { key: neighbour.key, body })).status).toBe(201)
    return performance.now() - start
  }
  const postWhile = async (isOn: () => boolean) => {
    const times: number[] = []
    while (isOn()) {
      times.push(await post())
      await sleep(2)
    }
    return times
  }
  await postWhile(() => written < 100)
  const alone = await postWhile(() => written < 400)
  let isGoing = true
  const start = performance.now()
  const ran = svc(t, ['accounts', 'delete', account.id, '--confirm', account.name, '--json']).finally(() => {
    isGoing = false
  })
  const beside = await postWhile(() => isGoing)
  const seconds = (performance.now() - start) / 1000
  expect(await ran).toMatchObject({ status: 0, json: { deleted: { ended_deliveries: 20_000, events: 20_000 } } })
  expect(await remains(t, account)).toEqual(nothing)
  const [p99Alone, p99Beside] = [percentile(alone, 99), percentile(beside, 99)]
  const figures = [p99Alone, p99Beside, percentile(alone, 50), percentile(beside, 50)].map((ms) => ms.toFixed(1))
  process.stderr.write(
    `p99 alone ${figures[0]} ms, beside ${figures[1]} ms; p50 ${figures[2]}, ${figures[3]}; gone in ${seconds.toFixed(1)} s\n`,
  )
  // No post waits for a considerable part of the deletion.
  expect(p99Beside).toBeLessThan(Math.max(8 * p99Alone, (seconds * 1000) / 30))
})

test('no row remains of an account that is deleted while eight writers emit events over two daemons', async () => {
  const other = await openApp(readConfig(t.env))
  const before = (await countsOf(t.app.database)).deadlocks
  for (let round = 0; round < 4; round++) {
    const account = await furnish(t)
    let written = 0
    const refused = new Set<unknown>()
    const writer = async (n: number) => {
      const app = n % 2 ? t.app : other
      const email = `w${round}-${n}@gone.example`
      for (let isAlive = true; isAlive; written++) {
        const replies = await Promise.all([
          emitEvents(app, account.id, 5).then(
            () => 'done',
            (problem) => problem.kind,
          ),
          t.request('POST', '/contacts', {
            key: account.key,
            body: { listId: account.listId, email: `${written}${email}` },
          }),
          t.request('GET', '/contacts?email=p1@gone.example', { key: account.key }),
          t.request('POST', '/deals', { key: account.key, body: { title: 'T', email: 'p1@gone.example' } }),
        ])
        const ends = replies.map((reply) => (typeof reply === 'string' ? reply : reply.status))
        for (const end of ends) if (!['done', 200, 201].includes(end as never)) refused.add(end)
        isAlive = ends[0] === 'done'
      }
    }
    const writers = Promise.all(Array.from({ length: 8 }, (_, n) => writer(n)))
    await eventually(() => written > 40)
    const { deleted } = await deleteAccount(other, account.id, { actor: 'cli:test' })
    await writers
    expect(deleted.pending_deliveries).toBeGreaterThan(200)
    expect([...refused].filter((end) => ![401, 404, 'not_found'].includes(end as never))).toEqual([])
    expect(await remains(t, account)).toEqual(nothing)
  }
  await other.close()
  expect((await countsOf(t.app.database)).deadlocks).toBe(before)
})
