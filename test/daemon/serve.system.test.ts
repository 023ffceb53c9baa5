import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { createAccount, createKey } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { openEmbedded, stopEmbedded } from '../../src/embedded/embedded.ts'
import { type TestApp, useAccount, useApp } from '../support/app.ts'
import { callDaemon, startDaemon } from '../support/daemon.ts'
import { untilLocked } from '../support/database.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { migratedDataFolder } from '../support/folder.ts'
import { atEnd } from '../support/scope.ts'

let listId: string

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  listId = (await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People' }))).id
  // The domain's DNS result is cached, because these tests do not need a name server.
  await t.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('load.example', 'mx', now() + interval '1 day')`,
  )
})

let written = 0

/** Starts callers that add new contacts until `stop`; returns the acknowledged addresses and the statuses of other answers. */
const startLoad = (urls: string[], key: string, list: string) => {
  const acknowledged: string[] = []
  const others: number[] = []
  let running = true
  const caller = async (i: number) => {
    while (running) {
      const email = `n${++written}@load.example`
      try {
        const answer = await fetch(`${urls[i % urls.length]}/api/v1/contacts`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ listId: list, email, fields: { n: i } }),
        })
        await answer.text()
        if (answer.status === 201) acknowledged.push(email)
        else others.push(answer.status)
      } catch {
        await sleep(20)
      }
    }
  }
  const callers = Array.from({ length: 8 }, (_, i) => caller(i))
  return {
    acknowledged,
    others,
    stop: async () => {
      running = false
      await Promise.all(callers)
    },
  }
}

const stored = async (app: TestApp['app'], accountId: string): Promise<Set<string>> =>
  new Set(
    (await app.sql<{ email: string }>('select email from contacts where account_id = $1', [accountId])).map(
      (row) => row.email,
    ),
  )

/** The addresses that were acknowledged and are not stored. */
const lost = async (app: TestApp['app'], accountId: string, { acknowledged }: { acknowledged: string[] }) => {
  const there = await stored(app, accountId)
  return acknowledged.filter((email) => !there.has(email))
}

test('two daemons share a database: counts are exact, a revoked key stops working on both; kill -9 of one and SIGTERM of the other under load lose no acknowledged contact', async () => {
  const own = await t.account()
  const list = await t.app.work(own.id, 'cli:test', (work) => createList(work, { name: 'Shared' }))
  const daemons = await Promise.all([startDaemon(t), startDaemon(t)])
  const [one, two] = daemons
  const load = startLoad(
    daemons.map((daemon) => daemon.url),
    own.key,
    list.id,
  )
  await eventually(() => load.acknowledged.length > 100)
  await load.stop()
  expect(load.others).toEqual([])
  const [counts] = await t.app.sql(
    'select l.row_count, a.contact_count from contact_lists l join accounts a on a.id = l.account_id where l.id = $1',
    [list.id],
  )
  const { size } = await stored(t.app, own.id)
  expect(counts).toEqual({ row_count: size, contact_count: size })
  await t.app.work(own.id, 'cli:test', (work) => revokeKey(work, own.keyId))
  const statuses = await Promise.all(
    daemons.map(async (daemon) => (await callDaemon(daemon, 'GET', '/lists', { key: own.key })).status),
  )
  expect(statuses).toEqual([401, 401])

  const beforeKill = startLoad([one.url], account.key, listId)
  await eventually(() => beforeKill.acknowledged.length > 50)
  await one.kill('SIGKILL')
  await beforeKill.stop()
  expect(await lost(t.app, account.id, beforeKill)).toEqual([])
  expect((await fetch(`${two.url}/readyz`)).status).toBe(200)

  const beforeStop = startLoad([two.url], account.key, listId)
  await eventually(() => beforeStop.acknowledged.length > 50)
  const stopped = two.stop()
  expect(await settlesWithin(stopped, 15_000)).toBe(true)
  expect(await stopped).toBe(0)
  await beforeStop.stop()
  expect(beforeStop.others.filter((status) => status !== 503)).toEqual([])
  expect(await lost(t.app, account.id, beforeStop)).toEqual([])
})

describe('a signal while a request waits for a lock and another has sent half its body', () => {
  const startBusy = async ({ isByNpm }: { isByNpm: boolean }) => {
    const daemon = await startDaemon(t, { env: { SVC_LOG_LEVEL: 'info', npm_command: isByNpm ? 'exec' : '' } })
    const holder = await t.app.database.connect()
    atEnd(() => holder.end())
    await holder.query('begin; lock table contact_lists in access exclusive mode')
    const authorization = `Bearer ${account.key}`
    const startedAt = performance.now()
    const waiting = fetch(`${daemon.url}/api/v1/lists`, { headers: { authorization } }).then(
      ({ status }) => status,
      () => 'cut' as const,
    )
    const half = connect(Number(new URL(daemon.url).port), '127.0.0.1')
    half.on('error', () => {})
    half.write(
      `POST /api/v1/contacts HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"list`,
    )
    await untilLocked(t.app, 1)
    const end = async () => {
      half.destroy()
      await holder.query('rollback')
      return waiting
    }
    return { daemon, startedAt, end }
  }

  test('ends the daemon with exit 0, also if npm sends it twice', async () => {
    const { daemon, end } = await startBusy({ isByNpm: true })
    const stopped = daemon.stop()
    await sleep(100)
    // Two signals within a second count as one.
    void daemon.kill('SIGTERM')
    expect(await settlesWithin(stopped, 14_500)).toBe(true)
    // A request waits for a lock for at most 5 s.
    expect(await end()).toBe(503)
    expect(await stopped).toBe(0)
  })

  test.for([
    { isByNpm: false, afterMs: 300 },
    { isByNpm: true, afterMs: 1100 },
  ])('ends it at once if it is the second: by npm $isByNpm, after $afterMs ms', async ({ isByNpm, afterMs }) => {
    const { daemon, startedAt, end } = await startBusy({ isByNpm })
    const first = daemon.stop()
    // A busy machine may hand over the first signal late.
    await eventually(() => daemon.log().includes('stopping'))
    await sleep(afterMs)
    void daemon.kill('SIGTERM')
    expect(await first).toBe(143)
    // A request waits for a lock for at most 5 s: on a slow machine it may have ended before the second signal.
    const isCut = performance.now() - startedAt < 5000
    const outcome = await end()
    if (isCut) expect(outcome).toBe('cut')
    else expect(['cut', 503]).toContain(outcome)
  })
})

test('the daemon recovers when the embedded database is stopped under load, and no acknowledged write is lost', async () => {
  const folder = await migratedDataFolder()
  const env = { SVC_DATA_DIR: folder, SVC_RATE_LIMIT: '0', SVC_LOG_LEVEL: 'silent' }
  const keep = await openEmbedded(folder, { settings: { synchronous_commit: 'on' } })
  atEnd(keep.close)
  const daemon = await startDaemon({ env })
  const app = await openApp(readConfig(env))
  atEnd(app.close)
  const made = await app.operate('cli:test', (operation) =>
    createAccount(operation, { name: 'Load', plan: 'unlimited' }),
  )
  const { key } = await app.work(made.id, 'cli:test', (work) => createKey(work, { name: 'load' }))
  const list = await app.work(made.id, 'cli:test', (work) => createList(work, { name: 'Load' }))
  await app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('load.example', 'mx', now() + interval '1 day')`,
  )
  const load = startLoad([daemon.url], key, list.id)
  const more = () => {
    const before = load.acknowledged.length
    return eventually(() => load.acknowledged.length > before + 30)
  }
  for (let round = 0; round < 2; round++) {
    await more()
    await stopEmbedded(folder)
  }
  await more()
  await load.stop()
  expect(load.others.filter((status) => status !== 503)).toEqual([])
  expect(await lost(app, made.id, load)).toEqual([])
  expect(await daemon.stop()).toBe(0)
})
