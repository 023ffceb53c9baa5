import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Database, isUnavailable, openDatabase, unavailable } from '../../src/store/database.ts'
import { useAccount, useApp } from '../support/app.ts'

let name: string

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  name = new URL(t.url).pathname.slice(1)
  await t.app.sql('create table things (id int primary key)')
})
afterEach(() => setReadOnly('off'))

/**
 * Makes new sessions read-only or writable, and ends existing ones, like a leader that restarts as a standby. The pool of `t.app` may
 * notice later that its connections have ended.
 */
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
/** Makes the pooled connection read-only, as if its leader was demoted; new connections reach the current leader. */
const demote = ({ sql }: Database) => sql('set default_transaction_read_only = on')

describe('a read-only database', () => {
  test('makes writes and /readyz return 503 until it is writable again; reads still work', async () => {
    const ready = async () => (await t.request('GET', '/readyz')).status
    const post = () =>
      t.request('POST', '/webhooks', {
        key: account.key,
        body: { url: 'https://example.com/x', events: ['lead.new'] },
      })
    const write = async () => (await post()).status
    expect([await ready(), await write()]).toEqual([200, 201])
    await setReadOnly('on')
    expect([await ready(), await write()]).toEqual([503, 503])
    expect((await post()).body).toEqual({ error: 'The service is not available: try again in a moment' })
    const refused = await t.request('GET', '/readyz')
    expect(refused.body).toEqual({ error: 'The database is not available' })
    // A pooled connection may notice a moment later that its session has ended.
    await expect.poll(() => t.app.sql('select 1 as one')).toEqual([{ one: 1 }])
    await setReadOnly('off')
    await expect.poll(async () => [await ready(), await write()]).toEqual([200, 201])
  })

  test('fails a transaction as unavailable after three tries', async () => {
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
      expect(await database.sql('select id from things where id in (2, 3)')).toHaveLength(2)
    }))

  test('is dropped, and the whole transaction runs once more', () =>
    inPool(async (database) => {
      await demote(database)
      let runs = 0
      await database.transaction(async (sql) => {
        runs++
        await sql('select 1')
        await sql('insert into things values (4)')
      })
      expect(runs).toBe(2)
      expect(await database.sql('select id from things where id = 4')).toHaveLength(1)
    }))

  test('a transaction whose session the server ends runs again and succeeds', () =>
    inPool(async (database) => {
      let runs = 0
      await database.transaction(async (sql) => {
        runs++
        await sql('insert into things values (5)')
        if (runs === 1) await sql('select pg_terminate_backend(pg_backend_pid())')
      })
      expect(runs).toBe(2)
      expect(await database.sql('select id from things where id = 5')).toHaveLength(1)
    }))

  test('a transaction that fails because of its values does not run again', () =>
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

test('space is measured by a write after an error that the disk is full, until it succeeds, and after no other error', () =>
  inPool(async ({ sql, requireSpace }) => {
    const fails = (code: string) => sql(`do $$ begin raise exception 'no' using errcode = '${code}'; end $$`)
    await expect(fails('23505')).rejects.toMatchObject({ code: '23505' })
    await setReadOnly('on')
    await requireSpace()
    // The pool's connection was ended.
    await expect.poll(() => sql('select 1 as one')).toEqual([{ one: 1 }])
    await expect(fails('53100')).rejects.toMatchObject({ code: '53100' })
    await expect(requireSpace()).rejects.toMatchObject({ code: '25006' })
    await setReadOnly('off')
    await requireSpace()
    await setReadOnly('on')
    await requireSpace()
  }))

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
  '57014',
  '25P04',
  '40001',
  'EHOSTUNREACH',
])('the error code %s means that the database is unavailable', (code) => {
  expect(isUnavailable(Object.assign(new Error('x'), { code }))).toBe(true)
})

test.each(['23505', '42P01', '22001', '25001', 'XX000'])(
  'the error code %s does not mean that the database is unavailable',
  (code) => {
    expect(isUnavailable(Object.assign(new Error('x'), { code }))).toBe(false)
  },
)

test('a server or pooler that refuses the connection is unavailable, and what it says is told', () => {
  for (const [code, message] of [
    ['28P01', 'password authentication failed for user "svc"'],
    ['28000', 'no pg_hba.conf entry for host "127.0.0.1"'],
    ['3D000', 'database "svc" does not exist'],
    ['08P01', 'unsupported startup parameter: options'],
  ]) {
    const refusal = Object.assign(new Error(message), { code })
    expect(isUnavailable(refusal)).toBe(true)
    expect(unavailable(refusal).message).toBe(`The database is not available: ${message}`)
  }
  const away = Object.assign(new Error('terminating connection'), { code: '57P01' })
  expect(unavailable(away).message).toBe('The database is not available')
})
