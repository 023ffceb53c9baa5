import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { setPlanLimits } from '../../../src/accounts/accounts.plans.ts'
import { countUse } from '../../../src/accounts/accounts.ts'
import { holdQueues } from '../../../src/queue/holds.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { connectionName } from '../../../src/store/processes.ts'
import { useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { emitEvents, endPending, subscribe } from '../../support/deliveries.ts'
import { queueMany, sendingAccount } from '../../support/messages.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })

const status = async () => {
  const ran = await svc(t, ['status', '--json'])
  expect(ran).toMatchObject({ status: 0, stderr: '' })
  return ran.json
}

test('svc status shows version, schema, database, queues, the last hour by outcome and accounts near a limit', async () => {
  const account = await sendingAccount(t)
  await subscribe(t.app, account.id, 'https://hooks.example.com/x')
  await emitEvents(t.app, account.id, 3)
  await queueMany(t.app, account.id, 2)
  await t.advance(2 * 3_600_000)
  await endPending(t.app, account.id, 'exhausted')
  await emitEvents(t.app, account.id, 2)
  await endPending(t.app, account.id, 'delivered')
  await emitEvents(t.app, account.id, 1)
  await t.app.operate('cli:test', (o) => setPlanLimits(o, 'pro', { sends: 100, sendApiCalls: 100 }))
  const near = await t.account({ plan: 'pro', name: 'Near' })
  await t.app.work(near.id, 'cli:test', (work) => countUse(work, 'sends', 80))
  await t.app.work(near.id, 'cli:test', (work) => countUse(work, 'sendApiCalls', 79))
  const shown = await status()
  expect(shown).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    schema: { applied: expect.any(Number), pending: [] },
    database: { at: new URL(t.url).host, version: expect.stringMatching(/^\d/), size: expect.any(Number) },
    daemons: [],
    lastHour: {
      deliveries: { pending: 1, delivered: 2, exhausted: 0, cancelled: 0 },
      sends: { pending: 0, sent: 0, failed: 0, suppressed: 0 },
    },
    nearLimits: [{ accountId: near.id, account: 'Near', quota: 'sends', used: 80, limit: 100 }],
  })
  expect(shown.queues.map(({ queue, depth }: { queue: string; depth: number }) => [queue, depth])).toEqual([
    ['deliveries', 1],
    ['journeys', 0],
    ['sends', 2],
  ])
  const { stdout } = await svc(t, ['status'])
  expect(stdout).toContain('queue sends\t2 due, the oldest for 7,2')
  expect(stdout).toContain('near its limit: Near, sends\t80 of 100')
  expect(stdout).toContain('daemons\tnone is connected')
  await t.app.sql('delete from pending_deliveries')
  await t.app.sql('delete from message_queue')
})

test('a daemon without work stays connected, with one connection', async () => {
  const daemon = openDatabase(t.url, { name: connectionName('svc daemon') })
  onTestFinished(() => daemon.close())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  await Promise.all([daemon.sql('select pg_sleep(0.1)'), daemon.sql('select pg_sleep(0.1)')])
  vi.advanceTimersByTime(3_600_000)
  vi.useRealTimers()
  const connections = `select from pg_stat_activity where datname = current_database() and application_name ~ '^svc daemon '`
  await expect.poll(async () => (await t.app.sql(connections)).length).toBeLessThan(2)
  expect((await status()).daemons).toHaveLength(1)
})

test('svc status names paused queues', async () => {
  await holdQueues(t.app.sql, ['journeys'])
  const pausedAt = expect.any(Number)
  expect((await status()).queues.map((queue: { pausedAt: number | null }) => queue.pausedAt)).toEqual([
    null,
    pausedAt,
    null,
  ])
  expect((await svc(t, ['status'])).stdout).toContain('queue journeys\tpaused; 0 due\n')
  await t.app.sql('delete from queue_holds')
})

test('an outdated schema is exit 7, with the part of the status that is known', async () => {
  await t.app.sql(`update mikro_orm_migrations set name = name || '_' where name like '%_checkout'`)
  const ran = await svc(t, ['status', '--json'])
  await t.app.sql(`update mikro_orm_migrations set name = rtrim(name, '_') where name like '%_checkout_'`)
  expect(ran.status).toBe(7)
  expect(ran.json).toMatchObject({
    schema: { pending: [expect.stringMatching(/_checkout$/)] },
    queues: null,
    lastHour: null,
  })
})

test('a missing database is exit 7, and none is created', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-status-'))
  for (const args of [['status'], ['jobs', 'status']]) {
    const ran = await svc({ env: { SVC_DATA_DIR: join(folder, 'data') } }, [...args, '--json'])
    expect(ran).toMatchObject({ status: 7, stdout: '' })
    expect(JSON.parse(ran.stderr)).toEqual({
      error: `There is no database yet in SVC_DATA_DIR, ${join(folder, 'data')}`,
      hint: expect.any(String),
    })
  }
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})
