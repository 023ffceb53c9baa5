import { beforeAll, expect, test } from 'vitest'
import { exportContacts, findMembers, readContactsOf } from '../../src/contacts/contacts.find.ts'
import { createList, joinList, listContacts, lockContacts, updateContacts } from '../../src/contacts/contacts.ts'
import { previewImport } from '../../src/contacts/imports/preview.ts'
import { saveResults } from '../../src/contacts/verification/reverify.ts'
import { countRemoval, deleteList } from '../../src/contacts/write/delete-list.ts'
import { writeContacts } from '../../src/contacts/write/write-contacts.ts'
import { type Database, openDatabase, type Sql } from '../../src/store/database.ts'
import { valuesOf } from '../../src/store/statement.ts'
import type { App, Work } from '../../src/store/work.ts'
import { createStates } from '../../src/store/work-state.ts'
import { useAccount, useApp } from '../support/app.ts'
import { textOf } from '../support/database.ts'

let lists: { old: string; fresh: string }

const people = (count: number) => Array.from({ length: count }, (_, i) => `p${i + 1}@example.org`)

/** Adds contacts to a list without updating the planner's statistics. */
const fill = async (listId: string, from: number, to: number) => {
  const params = [account.id, from, to]
  await t.app.sql(
    `insert into addresses (account_id, email, row_id, domain)
     select $1, 'p' || i || '@example.org', 'row_' || lpad(i::text, 12, '0'), 'example.org'
     from generate_series($2::int, $3::int) i on conflict do nothing`,
    params,
  )
  await t.app.sql(
    `insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
     select $1, 'p' || i || '@example.org', $4, 'row_' || lpad(i::text, 12, '0'), '{}', 'active', now(), now()
     from generate_series($2::int, $3::int) i`,
    [...params, listId],
  )
}

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  for (const table of ['contacts', 'addresses']) await t.app.sql(`alter table ${table} set (autovacuum_enabled = off)`)
  const make = (name: string) => t.app.work(account.id, 'cli:test', async (w) => (await createList(w, { name })).id)
  lists = { old: await make('old'), fresh: await make('fresh') }
})

const invalid = { status: 'invalid' as const, reasons: ['syntax'] }

/** An app whose transactions all run in one unit of work, which is rolled back. */
const appOf = (work: Work) => {
  const transaction = async (run: (sql: Sql) => Promise<unknown>, first: string) => {
    await work.sql(first)
    return run(work.sql)
  }
  const last: (() => Promise<void>)[] = []
  const unit = { ...work, last: (run: () => Promise<void>) => void last.push(run) }
  return {
    database: { transaction },
    work: (_a: string, _b: string, run: (w: Work) => unknown) => run(unit),
  } as unknown as App
}

let written = 0

/** Functions that look up 20 contacts of a list. */
const readers: Record<string, (work: Work, listId: string) => Promise<unknown>> = {
  'writing some': (work, listId) => {
    const writes = people(20).map((email, i) => ({ email, fields: i % 2 ? {} : { seen: String(++written) } }))
    return writeContacts(work, listId, writes, new Map(writes.map(({ email }) => [email, invalid])), { events: false })
  },
  'judging some': (work) =>
    saveResults(
      work,
      people(20).map((email) => ({ accountId: account.id, email, ...invalid })),
    ),
  'reading some': (work) => readContactsOf(work, people(20)),
  'finding members': (work, listId) => findMembers(work, listId, people(20)),
  'locking who enters a journey': (work, listId) =>
    lockContacts(
      work,
      people(20).map((email) => ({ email, listId })),
    ),
  'a page of a list': (work, listId) => listContacts(work, { list: listId, limit: 20 }),
  'a page of all': (work) => listContacts(work, { limit: 20 }),
  'changing some': (work, listId) =>
    updateContacts(
      work,
      people(20).map((email) => ({ listId, email, fields: { seen: String(++written) } })),
    ),
  'joining some': (work, listId) =>
    joinList(
      work,
      listId,
      people(20).map((email) => ({ email, fields: {}, status: 'active' as const })),
    ),
}

/** Functions that process a list in parts of 1,000 contacts; each processes one part. */
const sweepers: typeof readers = {
  'exporting a page': (work, listId) => exportContacts(appOf(work), account.id, listId).next(),
  'deleting a batch': (work, listId) => {
    const stop = new AbortController()
    const deletion = { actor: 'cli:test', signal: stop.signal, onBatch: () => stop.abort() }
    return deleteList(appOf(work), account.id, listId, deletion)
  },
}

/** Calls each reader `calls` times on one connection, which caches plans; returns the number of rows that the last call read. */
const rowsRead = async (
  { transaction }: Database,
  listId: string,
  calls: number,
  runs: typeof readers = { ...readers, ...sweepers },
): Promise<Record<string, number>> => {
  const count = async (sql: Sql) => {
    const [row] = await sql<{ count: number }>(
      `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as count from pg_stat_xact_user_tables
       where relname in ('contacts', 'addresses')`,
    )
    return row!.count
  }
  const read: Record<string, number> = {}
  const undone = new Error('Nothing is to stay')
  for (const [reader, run] of Object.entries(runs)) {
    for (let i = 0; i < calls; i++) {
      const called = transaction(async (sql) => {
        const work = {
          sql,
          accountId: account.id,
          actor: 'cli:test',
          now: t.app.now(),
          listeners: async () => [],
          last: () => {},
          state: createStates(),
        } as unknown as Work
        const before = await count(sql)
        await run(work, listId)
        read[reader] = (await count(sql)) - before
        throw undone
      })
      await called.catch((error) => {
        if (error !== undone) throw error
      })
    }
  }
  return read
}

test('lookups of contacts read only their rows, planned on a small table, on a large one, or before the list was created', async () => {
  const open = () => openDatabase(t.app.databaseUrl, { max: 1 })
  const client = open()
  const small = (read: Record<string, number>) =>
    Object.entries(read).filter(([reader, rows]) => rows > (sweepers[reader] ? 12_000 : 200))
  try {
    await fill(lists.old, 1, 40)
    for (const table of ['contacts', 'addresses']) await t.app.sql(`analyze ${table}`)
    await rowsRead(client, lists.old, 7)
    await fill(lists.old, 41, 20_000)
    expect(small(await rowsRead(client, lists.old, 1))).toEqual([])
    const afresh = open()
    expect(small(await rowsRead(afresh, lists.old, 7).finally(() => afresh.close()))).toEqual([])
    await t.app.sql('analyze contacts')
    await t.app.sql('analyze addresses')
    await fill(lists.fresh, 1, 5_000)
    expect(small(await rowsRead(client, lists.fresh, 7))).toEqual([])
    expect(small(await rowsRead(client, lists.old, 7))).toEqual([])
    const counting = { counting: (work: Work, listId: string) => countRemoval(work, listId) }
    expect((await rowsRead(client, lists.fresh, 7, counting)).counting).toBeLessThan(20_000)
  } finally {
    await client.close()
  }
})

test('what the deletion of a list removes is counted by key, even in an account that is newer than the statistics', async () => {
  const newer = await t.account()
  const list = await t.app.work(newer.id, 'cli:test', (work) => createList(work, { name: 'new' }))
  let plan = ''
  const sql = async (query: Parameters<Sql>[0], params: object) => {
    plan = JSON.stringify(await t.app.sql(`explain ${textOf(query)}`, valuesOf(query, params)))
    return [{}]
  }
  await countRemoval({ sql: sql as unknown as Sql, accountId: newer.id }, list.id)
  expect(plan).toMatch(/on contacts o .*Index Cond: \(\(account_id = [^)]*\) AND \(row_id = c.row_id\)\)/s)
})

test('a dry run of an import looks up each address by key', async () => {
  const source = async function* () {
    for (const email of people(20)) yield { line: 2, values: [email] }
  }
  const prepared = { columns: { email: 0, fields: [null] }, rows: source() }
  const plans: string[] = []
  const connect = async () => {
    const client = await t.app.database.connect()
    const query = client.query.bind(client) as (text: string, params?: unknown[]) => Promise<{ rows: object[] }>
    const explained = async (text: string, params: unknown[] = []) => {
      if (text.includes('"isKnown"')) plans.push(JSON.stringify((await query(`explain ${text}`, params)).rows))
      return query(text, params)
    }
    return Object.assign(client, { query: explained })
  }
  const app = { ...t.app, database: { ...t.app.database, connect } } as unknown as typeof t.app
  await previewImport(app, account.id, lists.old, prepared, { onConflict: 'upsert', events: false })
  expect(plans).toHaveLength(1)
  expect(plans[0]).toMatch(/addresses_pkey.*Index Cond: \(\(account_id = [^)]*\) AND \(email = e.email\)\)/s)
  expect(plans[0]).toMatch(/on contacts.*Index Cond: \([^"]*row_id = addresses.row_id\)/s)
  expect(plans[0]).not.toMatch(/Seq Scan on (contacts|addresses)/)
})
