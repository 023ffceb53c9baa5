import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { finishImport, type ImportView, openImport } from '../../../src/contacts/imports/checkpoint.ts'
import { writeBatches } from '../../../src/contacts/imports/imports.write.ts'
import { isContended, noteContention } from '../../../src/contacts/write/contention.ts'
import { type TestAccount, useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { prepareRun } from '../support.ts'

/* An import writes two batches at once; the rows that it has committed are always a prefix of its file. */

let folder: string
let account: TestAccount
let importId: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-order-'))
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
beforeEach(async () => {
  account = await t.account()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const addressOf = (n: number) => `p${String(n).padStart(5, '0')}@example.org`

let files = 0
/** Prepares an import of people 0, 1, …, followed by those of `again`; returns a function that runs it. */
const start = async (
  people: number,
  signal = new AbortController().signal,
  again: readonly number[] = [],
): Promise<() => Promise<ImportView>> => {
  const path = join(folder, `${++files}.csv`)
  const rows = [...Array.from({ length: people }, (_, n) => n), ...again].map((n) => `${addressOf(n)},x\n`)
  await writeFile(path, `email,note\n${rows.join('')}`)
  const { id, run } = await prepareRun(t, account.id, { list: 'L', path })
  importId = id
  return () => run({ signal })
}

/** The committed rows of the import and the committed addresses of the account. */
const seen = async () => {
  const { rows } = await t.app.work(account.id, 'cli:test', (work) => openImport(work, importId))
  const [counted] = await t.app.sql<{ addresses: number }>(
    'select count(*) as addresses from addresses where account_id = $1',
    [account.id],
  )
  return { rows, ...counted }
}

const adding = `insert into addresses (account_id, email, row_id, domain) values ($1, $2, $3, 'example.org')`
const add = (n: number) => [account.id, addressOf(n), `row_other${n}`] as const

/** The sessions of this database that wait for a lock, and those that are idle in a transaction that has written. */
const sessions = async () => {
  const [row] = await t.app.sql<{ waiting: number; still: number }>(
    `select count(*) filter (where wait_event_type = 'Lock') as waiting,
       count(*) filter (where state = 'idle in transaction' and backend_xid is not null) as still
     from pg_stat_activity where datname = current_database()`,
  )
  return row
}

/** Adds person 7 of the first batch in another, open transaction: the first batch waits, and the second is written. */
const hold = async () => {
  const other = await t.app.database.connect()
  await other.query('begin')
  await other.query(adding, [...add(7)])
  return other
}
/** Returns after `times` checks of the batch that waits for the previous one: does another transaction wait for it? */
const untilChecked = async (times: number) => {
  const lastCheck = async () => {
    const [row] = await t.app.sql<{ at: string }>(
      `select state_change::text as at from pg_stat_activity
       where datname = current_database() and state = 'idle in transaction' and query like '%isBlocking%'`,
    )
    return row?.at
  }
  for (let check = 0; check < times; check++) {
    const before = await lastCheck()
    await eventually(async () => {
      const at = await lastCheck()
      return at && at !== before
    })
  }
}
const isHeld = () => expect.poll(() => sessions()).toEqual({ waiting: 1, still: 2 })

/**
 * Far longer than the second batch takes if it does not wait, but not as long as the first batch waits for its lock (lock_timeout): on
 * a machine so slow that both are equal the test proves less.
 */
const longAfter = (usualMs: number): number => Math.min(5 * usualMs, 2500)

/** How long an import of another account takes to write its second batch while the first one waits. */
const timeToHold = async (): Promise<number> => {
  const own = account
  account = await t.account()
  const run = await start(1500)
  const other = await hold()
  const from = performance.now()
  const result = run()
  await isHeld()
  const ms = performance.now() - from
  await other.query('rollback')
  await other.end()
  await result
  account = own
  return ms
}

test('a batch that is written before the previous one commits after it', async () => {
  const run = await start(1000)
  const other = await hold()
  const result = run()
  await isHeld()
  expect(await seen()).toEqual({ rows: 0, addresses: 0 })
  await other.query('rollback')
  await other.end()
  expect(await result).toMatchObject({ status: 'done', created: 1000 })
  expect(await seen()).toEqual({ rows: 1000, addresses: 1000 })
})

test('a transaction that holds an address of the first batch and waits for one of the second proceeds', async () => {
  const run = await start(1500)
  const other = await hold()
  const result = run()
  await isHeld()
  await other.query(adding, [...add(700)])
  await other.query('commit')
  await other.end()
  expect(await result).toMatchObject({ status: 'done', created: 1500 })
  expect(isContended(account.id)).toBe(true)
  // The two addresses that existed already joined the list.
  expect(await seen()).toEqual({ rows: 1500, addresses: 1500 })
})

test('a batch that waits for the previous one rolls back only if another transaction waits for it', async () => {
  const run = await start(1000)
  const other = await hold()
  const result = run()
  await isHeld()
  await untilChecked(10)
  expect(await sessions()).toEqual({ waiting: 1, still: 2 })
  await other.query('rollback')
  await other.end()
  expect(await result).toMatchObject({ status: 'done', created: 1000 })
  expect(isContended(account.id)).toBe(false)
})

test('an import that had to roll back for another transaction writes one batch at a time', async () => {
  const usualMs = await timeToHold()
  const run = await start(1500)
  noteContention(account.id)
  const other = await hold()
  const result = run()
  await expect.poll(() => sessions()).toMatchObject({ waiting: 1 })
  await sleep(longAfter(usualMs))
  expect(await sessions()).toEqual({ waiting: 1, still: 1 })
  await other.query('rollback')
  await other.end()
  expect(await result).toMatchObject({ status: 'done', created: 1500 })
})

test('a failed batch rolls back the next one', async () => {
  const run = await start(1500)
  const other = await hold()
  const result = run()
  result.catch(() => {})
  await isHeld()
  await t.app.sql('update imports set rows_done = 1 where account_id = $1 and id = $2', [account.id, importId])
  await other.query('rollback')
  await other.end()
  await expect(result).rejects.toThrow('Another process is running the import')
  expect(await seen()).toEqual({ rows: 1, addresses: 0 })
})

test('an import whose last batches are lost in a crash of the database reports it with a hint', async () => {
  const run = await start(1500)
  const other = await hold()
  const result = run()
  result.catch(() => {})
  await isHeld()
  await other.query('rollback')
  await other.end()
  await result
  // The state after a crash if commits did not wait for the disk.
  await t.app.sql(
    `update imports set rows_done = 500, created = 500, status = 'running', finished_at = null where account_id = $1 and id = $2`,
    [account.id, importId],
  )
  const opened = await t.app.work(account.id, 'cli:test', (work) => openImport(work, importId))
  await t.app.sql('update imports set rows_done = 0, created = 0 where account_id = $1 and id = $2', [
    account.id,
    importId,
  ])
  const batch = { rows: 500, writes: [{ email: addressOf(1), fields: {} }], repeats: new Map(), rejects: [] }
  const batches = async function* () {
    yield { batch, verifications: new Map() }
  }
  const writer = { app: t.app, accountId: account.id, actor: 'cli:test', signal: new AbortController().signal }
  const lost = {
    kind: 'unavailable',
    message: 'The database crashed and lost the last batches: it kept 0 rows of the import',
    detail: { hint: `svc imports resume ${importId}` },
  }
  await expect(writeBatches(writer, opened, batches()).next()).rejects.toMatchObject(lost)
  await expect(t.app.work(account.id, 'cli:test', (work) => finishImport(work, importId, 500))).rejects.toMatchObject(
    lost,
  )
})

test('a stopped import finishes its current batches and can be resumed after them', async () => {
  const stop = new AbortController()
  const run = await start(2000, stop.signal)
  const other = await hold()
  const result = run()
  await isHeld()
  stop.abort()
  await other.query('rollback')
  await other.end()
  expect(await result).toMatchObject({ status: 'stopped', rows: 1000, created: 1000 })
  expect(await seen()).toEqual({ rows: 1000, addresses: 1000 })
})

test('batches with a common address are written one after the other', async () => {
  const usualMs = await timeToHold()
  const run = await start(600, undefined, [7])
  const other = await hold()
  const result = run()
  await expect.poll(() => sessions()).toMatchObject({ waiting: 1 })
  await sleep(longAfter(usualMs))
  expect(await sessions()).toEqual({ waiting: 1, still: 1 })
  await other.query('rollback')
  await other.end()
  expect(await result).toMatchObject({ status: 'done', created: 600, unchanged: 1 })
})

test('a failed batch is reported while the next one is still being read', async () => {
  const run = await start(500)
  await t.app.sql('update imports set rows_done = 1 where account_id = $1 and id = $2', [account.id, importId])
  const opened = await t.app.work(account.id, 'cli:test', (work) => openImport(work, importId))
  const batch = { rows: 1, writes: [{ email: addressOf(1), fields: {} }], repeats: new Map(), rejects: [] }
  const slow = async function* () {
    yield { batch, verifications: new Map() }
    await new Promise(() => {})
  }
  const writer = { app: t.app, accountId: account.id, actor: 'cli:test', signal: new AbortController().signal }
  const written = writeBatches(writer, { ...opened, rows: 0 }, slow())
  await expect(written.next()).rejects.toThrow('Another process is running the import')
  await expect(run()).rejects.toThrow('Another process is running the import')
})
