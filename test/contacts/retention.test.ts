import { beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { purgeAccessLog, purgeImports } from '../../src/contacts/contacts.purge.ts'
import { newId } from '../../src/lib/ids.ts'
import { type TestAccount, useAccount, useApp } from '../support/app.ts'

const day = 86_400_000
// A 31st: the month 13 months earlier is February, so the limit is its last day.
const now = Date.parse('2026-03-31T12:00:00Z')
const thirteenMonthsAgo = Date.parse('2025-02-28T12:00:00Z')

const t = useApp({ now: () => new Date(now) })
const account = useAccount(t)
const neighbour = useAccount(t)

const keep = () => runHousekeeping(t.app, new AbortController().signal)

const logRead = async ({ id }: TestAccount, at: number, count = 1) => {
  for (let i = 0; i < count; i++)
    await t.app.sql(
      `insert into access_log (account_id, id, at, actor, email, found) values ($1, $2, $3, 'key:k', 'a@b.example', 1)`,
      [id, newId('log', at), new Date(at)],
    )
}

const reads = async ({ id }: TestAccount) =>
  (await t.app.sql<{ at: Date }>('select at from access_log where account_id = $1 order by id', [id])).map(({ at }) =>
    at.getTime(),
  )

/** Adds an import with rejects that began and ended at these times (epoch ms; `finishedAt` null: it was interrupted). */
const addImport = async (
  { id: accountId }: TestAccount,
  startedAt: number,
  finishedAt: number | null,
  rejects: number,
): Promise<string> => {
  const id = newId('imp', startedAt)
  await t.app.sql(
    `insert into imports (id, account_id, list_id, file, options, status, rejected, started_at, finished_at)
     values ($1, $2, 'lst_none', '-', '{}', $3, $4, $5, $6)`,
    [id, accountId, finishedAt ? 'done' : 'running', rejects, new Date(startedAt), finishedAt && new Date(finishedAt)],
  )
  await t.app.sql(
    `insert into import_rejects (account_id, import_id, line, email, reason)
     select $1, $2, n, 'a@b.example', 'no address' from generate_series(1, $3::int) n`,
    [accountId, id, rejects],
  )
  return id
}

/** The remaining imports of the account, each with its number of rejects. */
const imports = async ({ id }: TestAccount) =>
  Object.fromEntries(
    (
      await t.app.sql<{ id: string; n: number }>(
        `select id, (select count(*) from import_rejects r where r.account_id = i.account_id and r.import_id = i.id) as n
         from imports i where account_id = $1`,
        [id],
      )
    ).map((row) => [row.id, row.n]),
  )

describe('the access log', () => {
  beforeEach(() => t.app.sql('delete from access_log'))

  test('is kept for 13 months to the millisecond, of every account', async () => {
    await logRead(account, thirteenMonthsAgo - 1, 3)
    await logRead(account, thirteenMonthsAgo)
    await logRead(neighbour, thirteenMonthsAgo - 400 * day)
    await logRead(neighbour, now)
    await keep()
    expect(await reads(account)).toEqual([thirteenMonthsAgo])
    expect(await reads(neighbour)).toEqual([now])
  })

  test('is deleted in small batches, and stops at the signal', async () => {
    await logRead(account, now - 3 * day, 8)
    await logRead(neighbour, now)
    const before = new Date(now - 2 * day)
    expect(await purgeAccessLog(t.app, before, { signal: AbortSignal.abort() })).toBe(0)
    let batches = 0
    const { sql, database } = t.app
    const transaction: typeof database.transaction = (...given) => {
      batches++
      return database.transaction(...given)
    }
    expect(await purgeAccessLog({ sql, database: { ...database, transaction } }, before, { batchSize: 3 })).toBe(8)
    // 3, 3 and 2 rows were deleted: the last batch was not full.
    expect(batches).toBe(3)
    expect(await reads(account)).toEqual([])
    expect(await reads(neighbour)).toEqual([now])
  })
})

describe('imports and their rejects', () => {
  beforeEach(async () => {
    await t.app.sql('delete from import_rejects')
    await t.app.sql('delete from imports')
  })

  test('are deleted 90 days after the end, or after the start if they never ended', async () => {
    const ended = await addImport(account, now - 95 * day, now - 90 * day - 1, 2)
    const long = await addImport(account, now - 95 * day, now - 90 * day, 2)
    const brokenOff = await addImport(account, now - 90 * day - 1, null, 2)
    const open = await addImport(account, now - 89 * day, null, 2)
    const foreign = await addImport(neighbour, now - 400 * day, now - 399 * day, 0)
    await keep()
    expect(await imports(account)).toEqual({ [long]: 2, [open]: 2 })
    expect(await imports(neighbour)).toEqual({})
    expect([ended, brokenOff, foreign].every(Boolean)).toBe(true)
    expect(await t.app.sql('select from import_rejects where import_id = any($1)', [[ended, brokenOff]])).toEqual([])
  })

  test('rejects may be deleted before their imports, which keep their number', async () => {
    const id = await addImport(account, now - 20 * day, now - 20 * day, 5)
    const fresh = await addImport(account, now - 5 * day, now - 5 * day, 5)
    const [before, rejectsBefore] = [new Date(now - 50 * day), new Date(now - 10 * day)]
    expect(await purgeImports(t.app, before, rejectsBefore, { batchSize: 2 })).toBeGreaterThanOrEqual(5)
    expect(await imports(account)).toEqual({ [id]: 0, [fresh]: 5 })
    expect((await t.app.sql('select rejected from imports where id = $1', [id]))[0]).toEqual({ rejected: 5 })
  })

  test('the rejects of an import are deleted with it', async () => {
    const id = await addImport(account, now - 20 * day, now - 20 * day, 5)
    await purgeImports(t.app, new Date(now - 10 * day), new Date(now - 50 * day))
    expect(await imports(account)).not.toHaveProperty(id)
    expect(await t.app.sql('select from import_rejects where import_id = $1', [id])).toEqual([])
  })

  test('an import that is resumed while it is purged stays, with its rejects', async () => {
    const id = await addImport(account, now - 20 * day, null, 0)
    const other = await t.app.database.connect()
    await other.query('begin')
    await other.query('update imports set rows_done = rows_done + 1, rejected = 1 where id = $1', [id])
    await other.query(
      `insert into import_rejects (account_id, import_id, line, email, reason) values ($1, $2, 1, 'a@b.example', 'no address')`,
      [account.id, id],
    )
    // The purge does not wait for the import.
    await purgeImports(t.app, new Date(now - 10 * day), new Date(now - 50 * day))
    await other.query('commit')
    await other.end()
    expect(await imports(account)).toMatchObject({ [id]: 1 })
  })
})

test('each retention is a setting, checked at the start', () => {
  const env = { DATABASE_URL: t.url, SVC_SECRET: 'a secret that only tests use' }
  expect(readConfig(env)).toMatchObject({
    accessLogRetentionMonths: 13,
    importRetentionDays: 90,
    rejectRetentionDays: 90,
  })
  const set = { SVC_ACCESS_LOG_RETENTION_MONTHS: '1', SVC_IMPORT_RETENTION_DAYS: '2', SVC_REJECT_RETENTION_DAYS: '3' }
  expect(readConfig({ ...env, ...set })).toMatchObject({
    accessLogRetentionMonths: 1,
    importRetentionDays: 2,
    rejectRetentionDays: 3,
  })
  for (const [name, value] of [
    ['SVC_ACCESS_LOG_RETENTION_MONTHS', '0'],
    ['SVC_IMPORT_RETENTION_DAYS', '999999999'],
    ['SVC_REJECT_RETENTION_DAYS', '-1'],
    ['SVC_JOURNEY_RETENTION_DAYS', '1.5'],
  ] as const)
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name)
})
