import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAccount, createKey, revokeKey } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { openEmbedded, stopEmbedded } from '../../src/embedded/embedded.ts'
import { startApp, type TestApp, useAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { callDaemon, type Daemon, freePort, startDaemon } from '../support/daemon.ts'
import { untilLocked } from '../support/database.ts'
import { newDataFolder } from '../support/folder.ts'

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

describe('start', () => {
  test('all errors of the environment are reported at once, exit 4', async () => {
    const ran = await svc({ env: {} }, ['serve'], {
      env: {
        DATABASE_URL: 'mysql://x',
        SVC_PORT: 'abc',
        SVC_RATE_LIMIT: '-1',
        SVC_SECRET: 'short',
        SVC_LOG_LEVEL: 'loud',
        SVC_ALLOW_PRIVATE_WEBHOOKS: 'foo',
      },
    })
    expect(ran.status).toBe(4)
    for (const name of [
      'DATABASE_URL',
      'SVC_PORT',
      'SVC_RATE_LIMIT',
      'SVC_SECRET',
      'SVC_LOG_LEVEL',
      'SVC_ALLOW_PRIVATE_WEBHOOKS',
    ])
      expect(ran.stderr).toContain(name)
    expect(ran.stderr).not.toContain('short')
    expect(ran.stdout).toBe('')
  })

  test('SVC_SECRET is required with DATABASE_URL', async () => {
    const ran = await svc({ env: { DATABASE_URL: t.url } }, ['serve'])
    expect(ran).toMatchObject({ status: 4, stdout: '' })
    expect(ran.stderr).toContain('SVC_SECRET is required')
  })

  test('an outdated schema is refused with exit 7, and the error names svc db migrate', async () => {
    const behind = await startApp()
    await behind.app.sql('delete from mikro_orm_migrations')
    const ran = await svc(behind, ['serve'])
    expect(ran.status).toBe(7)
    expect(ran.stderr).toContain('svc db migrate')
    await behind.close()
  })

  test('an unavailable database is exit 7', async () => {
    const ran = await svc(t, ['serve'], {
      env: { DATABASE_URL: `postgres://svc:svc@127.0.0.1:${await freePort()}/svc` },
    })
    expect(ran.status).toBe(7)
    expect(ran.stderr).toContain('database')
  })

  test('a taken port is exit 4, with a line that explains what to do', async () => {
    const daemon = await startDaemon(t)
    const ran = await svc(t, ['serve'], { env: { SVC_PORT: new URL(daemon.url).port } })
    expect(ran.status).toBe(4)
    expect(ran.stderr).toMatch(/Port \d+ is taken/)
    expect(ran.stderr).toContain('SVC_PORT')
    await daemon.stop()
  })
})

describe('stop', () => {
  test('SIGTERM under load: acknowledged contacts are stored, later calls are refused, exit 0', async () => {
    const daemon = await startDaemon(t)
    const load = startLoad([daemon.url], account.key, listId)
    await expect.poll(() => load.acknowledged.length).toBeGreaterThan(50)
    const start = performance.now()
    expect(await daemon.stop()).toBe(0)
    expect(performance.now() - start).toBeLessThan(15_000)
    await load.stop()
    expect(load.others.filter((status) => status !== 503)).toEqual([])
    const there = await stored(t.app, account.id)
    expect(load.acknowledged.filter((email) => !there.has(email))).toEqual([])
  })

  /** Starts a daemon with a request that waits for a lock, and another of which half the body has arrived. */
  const startBusy = async () => {
    const daemon = await startDaemon(t)
    const holder = await t.app.database.connect()
    await holder.query('begin; lock table contact_lists in access exclusive mode')
    const authorization = `Bearer ${account.key}`
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
      await holder.end()
      return waiting
    }
    return { daemon, end }
  }

  test('SIGTERM ends it with exit 0 even if a request waits for a lock and another has sent half its body', async () => {
    const { daemon, end } = await startBusy()
    const start = performance.now()
    const stopped = daemon.stop()
    await sleep(100)
    // npm sends the signal twice; two within a second count as one.
    void daemon.kill('SIGTERM')
    const status = await stopped
    const stoppedMs = performance.now() - start
    // A request waits for a lock for at most 5 s.
    expect(await end()).toBe(503)
    expect(status).toBe(0)
    expect(stoppedMs).toBeLessThan(14_500)
  })

  test('a second signal, more than a second after the first, ends it at once', async () => {
    const { daemon, end } = await startBusy()
    const first = daemon.kill('SIGTERM')
    await sleep(1100)
    void daemon.kill('SIGTERM')
    const status = await first
    expect(await end()).toBe('cut')
    expect(status).toBe(143)
  })

  test('kill -9 under load: nothing acknowledged is lost, and the next daemon serves', async () => {
    const daemon = await startDaemon(t)
    const load = startLoad([daemon.url], account.key, listId)
    await expect.poll(() => load.acknowledged.length).toBeGreaterThan(50)
    await daemon.kill('SIGKILL')
    await load.stop()
    const there = await stored(t.app, account.id)
    expect(load.acknowledged.filter((email) => !there.has(email))).toEqual([])
    const next = await startDaemon(t)
    expect((await fetch(`${next.url}/readyz`)).status).toBe(200)
    await next.stop()
  })
})

test('two daemons share a database: a key revoked by another process stops working on both, and rowCount stays exact', async () => {
  const own = await t.account()
  const list = await t.app.work(own.id, 'cli:test', (work) => createList(work, { name: 'Shared' }))
  const daemons = await Promise.all([startDaemon(t), startDaemon(t)])
  const load = startLoad(
    daemons.map((daemon) => daemon.url),
    own.key,
    list.id,
  )
  await expect.poll(() => load.acknowledged.length).toBeGreaterThan(100)
  await load.stop()
  expect(load.others).toEqual([])
  const [counts] = await t.app.sql(
    'select l.row_count, a.contact_count from contact_lists l join accounts a on a.id = l.account_id where l.id = $1',
    [list.id],
  )
  const there = await stored(t.app, own.id)
  expect(counts).toEqual({ row_count: there.size, contact_count: there.size })
  await t.app.work(own.id, 'cli:test', (work) => revokeKey(work, own.keyId))
  const statuses = await Promise.all(
    daemons.map(async (daemon) => (await callDaemon(daemon, 'GET', '/lists', { key: own.key })).status),
  )
  expect(statuses).toEqual([401, 401])
  expect(await Promise.all(daemons.map((daemon: Daemon) => daemon.stop()))).toEqual([0, 0])
})

test('the daemon recovers when the embedded database is stopped under load, and no acknowledged write is lost', async () => {
  const folder = await newDataFolder()
  const env = { SVC_DATA_DIR: folder, SVC_RATE_LIMIT: '0', SVC_LOG_LEVEL: 'silent' }
  const keep = await openEmbedded(folder, { settings: { synchronous_commit: 'on' } })
  const daemon = await startDaemon({ env })
  const app = await openApp(readConfig(env))
  const made = await app.operate('cli:test', (operation) =>
    createAccount(operation, { name: 'Load', plan: 'unlimited' }),
  )
  const { key } = await app.work(made.id, 'cli:test', (work) => createKey(work, { name: 'load' }))
  const list = await app.work(made.id, 'cli:test', (work) => createList(work, { name: 'Load' }))
  await app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('load.example', 'mx', now() + interval '1 day')`,
  )
  const load = startLoad([daemon.url], key, list.id)
  for (let round = 0; round < 2; round++) {
    const before = load.acknowledged.length
    await expect.poll(() => load.acknowledged.length).toBeGreaterThan(before + 30)
    await stopEmbedded(folder)
  }
  const before = load.acknowledged.length
  await expect.poll(() => load.acknowledged.length).toBeGreaterThan(before + 30)
  await load.stop()
  expect(load.others.filter((status) => status !== 503)).toEqual([])
  const there = await stored(app, made.id)
  expect(load.acknowledged.filter((email) => !there.has(email))).toEqual([])
  expect(await daemon.stop()).toBe(0)
  await app.close()
  await keep.close()
})
