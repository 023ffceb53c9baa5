import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.ts'
import { verify } from '../../src/lib/signature.ts'
import { disableWebhook, enableWebhook, rotateSecret } from '../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { useDaemons } from '../support/daemons.ts'
import { countsOf } from '../support/database.ts'
import { deliveriesOf, emitEvents, eventually, subscribe, tally } from '../support/deliveries.ts'
import { backlog, repeatsOf, startWorking, subscribeMany } from '../support/neighbours.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { watchStalls } from '../support/stalls.ts'

// What is still posted after a webhook ends, what is left in the queue, and results that the database refuses to record.

let account: TestAccount
let receiver: Receiver

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_LOG_LEVEL: 'error' } })
beforeEach(async () => {
  account = await t.account()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await t.app.sql('delete from pending_deliveries')
})

const { daemons, start: startOne } = useDaemons(t)
const start = () => startWorking(t.app, () => startOne())
const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)

describe('an endpoint with hundreds of claimed deliveries', () => {
  /** Answers immediately at first, so that hundreds of deliveries are claimed, then after 300 ms. */
  const earn = async () => {
    const webhook = await subscribe(t.app, account.id, receiver.url, account.keyId)
    await Promise.all([start(), start()])
    await backlog(t.app, account.id, [webhook.id], 8000)
    await receiver.arrived(5000)
    receiver.always({ delayMs: 300 })
    await eventually(async () => {
      const [claimed] = await t.app.sql<{ count: number }>(
        'select count(*) from pending_deliveries where worker is not null',
      )
      return claimed!.count > 100
    })
    return webhook
  }

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['DELETE', (id) => t.request('DELETE', `/webhooks/${id}`, { key: account.key })],
    ['disabling', (id) => work((w) => disableWebhook(w, id))],
    ['the revocation of its key', () => work((w) => revokeKey(w, account.keyId))],
  ])('gets only the posts in flight after %s, and nothing a moment later', async (_, end) => {
    const { id } = await earn()
    const stalls = watchStalls()
    await end(id)
    const endedAt = Date.now()
    await sleep(2500)
    stalls.stop()
    const late = receiver.requests.filter(({ arrivedAtMs }) => arrivedAtMs > endedAt)
    expect(late.length).toBeLessThanOrEqual(128)
    const momentMs = Math.max(250, 8 * stalls.worstMs())
    expect(late.filter(({ arrivedAtMs }) => arrivedAtMs > endedAt + momentMs)).toEqual([])
    await eventually(async () => (await t.app.sql('select from pending_deliveries')).length === 0, 5000)
  })

  test('gets nothing signed with its old secret a moment after a rotation', async () => {
    const { id } = await earn()
    const stalls = watchStalls()
    const { secret } = await work((w) => rotateSecret(w, t.app.box, id))
    const rotatedAt = Date.now()
    const momentMs = () => Math.max(250, 8 * stalls.worstMs())
    await eventually(() => receiver.requests.at(-1)!.arrivedAtMs > rotatedAt + momentMs() + 1250)
    stalls.stop()
    const late = receiver.requests.filter(({ arrivedAtMs }) => arrivedAtMs > rotatedAt + momentMs())
    expect(late.length).toBeGreaterThan(50)
    expect(late.filter(({ headers, body }) => verify(secret, headers, body, Date.now()) !== 'ok')).toEqual([])
    expect(repeatsOf(receiver)).toBe(0)
  })
})

test('many concurrent 410 answers during other changes of the queue cause no deadlock and leave no delivery pending', async () => {
  const deadlocks = async () => (await countsOf(t.app.database)).deadlocks
  const gone = await openReceiver()
  gone.always({ status: 410, delayMs: 20 })
  const fine = await subscribeMany(t.app, account.id, receiver.url, 4)
  await Promise.all([start(), start()])
  const before = await deadlocks()
  const until = performance.now() + 15_000
  const again = async (run: () => Promise<unknown>) => {
    while (performance.now() < until) await run()
  }
  const env = { SVC_ACCOUNT: account.name }
  const bulk = (...args: string[]) => svc(t, ['deliveries', ...args, '--json'], { env })
  await Promise.all([
    again(async () => {
      const ids = await subscribeMany(t.app, account.id, gone.url, 20)
      await backlog(t.app, account.id, ids, 200)
      await eventually(async () => {
        // A webhook whose deliveries were cancelled before their post receives the next event.
        await emitEvents(t.app, account.id)
        const active = await t.app.sql(`select from delivery_targets where id = any($1) and status = 'active'`, [ids])
        return active.length === 0
      })
      await t.app.sql('delete from webhooks where id = any($1)', [ids])
    }),
    again(() => emitEvents(t.app, account.id, 5)),
    again(() => emitEvents(t.app, account.id)),
    again(() => bulk('replay', '--status', 'cancelled', '--yes')),
    again(() => bulk('replay', '--status', 'exhausted', '--yes')),
    again(() => bulk('cancel', '--type', 'contact.created', '--yes')),
    again(async () => {
      await work((w) => disableWebhook(w, fine[0]!))
      await work((w) => enableWebhook(w, fine[0]!))
      await sleep(20)
    }),
  ])
  await eventually(async () => (await t.app.sql('select from pending_deliveries limit 1')).length === 0)
  // The sessions of the daemons report at their end.
  await Promise.all(daemons.map((daemon) => daemon.stop()))
  expect((await deadlocks()) - before).toBe(0)
  for (const daemon of daemons) expect(daemon.log()).not.toMatch(/fault|failed/)
  await gone.close()
})

test('a result that the database refuses is reported and retried with growing delays, and other deliveries continue', async () => {
  const { id } = await subscribe(t.app, account.id, receiver.url)
  await backlog(t.app, account.id, [id], 20)
  const [{ refused } = { refused: '' }] = await t.app.sql<{ refused: string }>(
    'select min(id) as refused from pending_deliveries where account_id = $1',
    [account.id],
  )
  await t.app.sql(
    `create function refuse() returns trigger language plpgsql as $$ begin
       if new.id = '${refused}' then raise 'refused'; end if;
       return new;
     end $$`,
  )
  await t.app.sql('create trigger refuse before insert on ended_deliveries for each row execute function refuse()')
  const daemon = await start()
  await eventually(async () => (await tally(t.app, account.id)).delivered === 19, 5000)
  await emitEvents(t.app, account.id, 200)
  await eventually(async () => (await tally(t.app, account.id)).delivered === 219, 5000)
  const reports = () =>
    daemon
      .log()
      .split('\n')
      .filter((line) => line.includes('"delivery"'))
  await eventually(() => reports().length > 2)
  expect(reports().length).toBeLessThan(12)
  expect(JSON.parse(reports().at(-1)!)).toMatchObject({ job: 'deliveries', delivery: refused })
  await t.app.sql('drop trigger refuse on ended_deliveries')
  await eventually(async () => (await tally(t.app, account.id)).delivered === 220)
  expect(receiver.requests).toHaveLength(220)
  const [row] = await deliveriesOf(t.app, account.id)
  expect(row!.attempts).toMatchObject([{ status: 200, error: null, snippet: '' }])
})
