import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Database, isUnavailable, openDatabase } from '../../src/store/database.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'

let t: TestApp
let account: TestAccount
let name: string

beforeAll(async () => {
  t = await startApp()
  account = await t.account()
  name = new URL(t.url).pathname.slice(1)
  await t.app.sql('create table things (id int primary key)')
})
afterEach(() => setReadOnly('off'))
afterAll(() => t.close())

/** New sessions take writes or not; existing ones end, as those of a leader that restarts as a standby. */
const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
  const admin = openDatabase(t.url, { max: 1 })
  await admin.transaction(async (sql) => {
    await sql('set transaction read write')
    await sql(`alter database ${name} set default_transaction_read_only = ${value}`)
  })
  await admin
    .sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
    )
    .catch(() => {})
  await admin.close()
}

const inPool = async (run: (database: Database) => Promise<void>): Promise<void> => {
  const database = openDatabase(t.url, { max: 1 })
  await run(database).finally(() => database.close())
}
/** The pooled connection is one to a leader that was demoted; new ones reach the leader. */
const demote = ({ sql }: Database) => sql('set default_transaction_read_only = on')

describe('a database that takes no writes', () => {
  test('answers writes with 503 and is not ready, until it takes them again; reads go on', async () => {
    const ready = async () => (await t.request('GET', '/readyz')).status
    const write = async () =>
      (
        await t.request('POST', '/webhooks', {
          key: account.key,
          body: { url: 'https://example.com/x', events: ['lead.new'] },
        })
      ).status
    expect([await ready(), await write()]).toEqual([200, 201])
    await setReadOnly('on')
    expect([await ready(), await write()]).toEqual([503, 503])
    const refused = await t.request('GET', '/readyz')
    expect(refused.body).toEqual({ error: 'The database is not available' })
    expect(await t.app.sql('select 1 as one')).toEqual([{ one: 1 }])
    await setReadOnly('off')
    // A pooled connection may learn a moment later that its session has been ended.
    await expect.poll(async () => [await ready(), await write()]).toEqual([200, 201])
  })

  test('is unavailable to a transaction, after a few tries', async () => {
    await setReadOnly('on')
    let runs = 0
    await inPool(async ({ transaction }) => {
      const error = await transaction(async (sql) => {
        runs++
        await sql('insert into things values (1)')
      }).catch((fault) => fault)
      expect(error.code).toBe('25006')
      expect(isUnavailable(error)).toBe(true)
    })
    expect(runs).toBe(3)
  })
})

describe('a pooled connection to a demoted leader', () => {
  test('is dropped, and the statement runs on a new connection', () =>
    inPool(async (database) => {
      await demote(database)
      await database.sql('insert into things values (2)')
      await database.sql('insert into things values (3)')
      expect(await t.app.sql('select id from things where id in (2, 3)')).toHaveLength(2)
    }))

  test('is dropped, and the whole transaction runs again, once', () =>
    inPool(async (database) => {
      await demote(database)
      let runs = 0
      await database.transaction(async (sql) => {
        runs++
        await sql('select 1')
        await sql('insert into things values (4)')
      })
      expect(runs).toBe(2)
      expect(await t.app.sql('select id from things where id = 4')).toHaveLength(1)
    }))

  test('a session that the server ends in the middle of a transaction does not fail it', () =>
    inPool(async (database) => {
      let runs = 0
      await database.transaction(async (sql) => {
        runs++
        await sql('insert into things values (5)')
        if (runs === 1) await sql('select pg_terminate_backend(pg_backend_pid())')
      })
      expect(runs).toBe(2)
      expect(await t.app.sql('select id from things where id = 5')).toHaveLength(1)
    }))

  test('a refusal that a caller causes is not repeated', () =>
    inPool(async ({ transaction }) => {
      let runs = 0
      const error = await transaction(async (sql) => {
        runs++
        await sql('insert into things values (null)')
      }).catch((fault) => fault)
      expect(error.code).toBe('23502')
      expect(isUnavailable(error)).toBe(false)
      expect(runs).toBe(1)
    }))
})

test.each([
  '25006',
  '08006',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '53300',
  '53100',
  '55000',
  '58030',
  '55P03',
  '40001',
  'EHOSTUNREACH',
])('%s says that the database is unavailable', (code) => {
  expect(isUnavailable(Object.assign(new Error('x'), { code }))).toBe(true)
})

test.each(['23505', '42P01', '22001', '57014', '25001', 'XX000'])('%s does not', (code) => {
  expect(isUnavailable(Object.assign(new Error('x'), { code }))).toBe(false)
})
