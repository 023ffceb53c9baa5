import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { idAt } from '../../src/lib/ids.ts'
import { singleLocks } from '../../src/lib/locks.ts'
import { openDatabase } from '../../src/store/database.ts'
import { useAccount, useApp } from '../support/app.ts'
import { limit } from '../support/slowness.ts'

const day = 86_400_000
const now = Date.parse('2026-11-20T12:00:00Z')

const t = useApp({ now: () => new Date(now) })
const account = useAccount(t)

interface Told {
  message: string
  step: unknown
}

const keep = async (limits?: { stepMs: number; graceMs: number }): Promise<Told[]> => {
  const told: Told[] = []
  const report = (fault: unknown, about: Record<string, unknown>) =>
    void told.push({ message: (fault as Error).message, step: about.step })
  await runHousekeeping(t.app, new AbortController().signal, report, limits)
  return told
}

const failures = () => Object.fromEntries(t.app.counters.counts('housekeeping')).failed

/** The rows that every purge except that of `import_rejects` finds. */
const leaveOld = async () => {
  const { sql } = t.app
  for (const table of ['mail_domains', 'rate_windows', 'access_log', 'journey_runs']) await sql(`delete from ${table}`)
  const old = now - 800 * day
  await sql(`insert into mail_domains values ('old.example', 'mx', $1)`, [new Date(old)])
  await sql(`insert into rate_windows values ('key_old', 'api', now() - interval '2 hours', 1)`)
  await sql(
    `insert into access_log (account_id, id, at, actor, email, found) values ($1, $2 || 'x', $3, 'key:k', 'a@b.example', 1)`,
    [account.id, idAt('log', old), new Date(old)],
  )
  await sql(
    `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, due_at, context, entered_at, ended_at)
     values ($1, $2 || 'x', 'jrn_1', 1, 'lst_1', 'row_1', '', 'completed', $3, '{}', $3, $3)`,
    [account.id, idAt('run', old), new Date(old)],
  )
}

const left = async () => {
  const rows = await t.app.sql<{ name: string }>(
    `select 'mail_domains' as name from mail_domains union all select 'rate_windows' from rate_windows where key_id = 'key_old'
     union all select 'access_log' from access_log union all select 'journey_runs' from journey_runs order by name`,
  )
  return rows.map(({ name }) => name)
}

describe('each step runs independently', () => {
  beforeEach(leaveOld)
  afterEach(() => t.app.sql('drop function if exists hinder cascade'))

  const hinder = async (table: string, body: string) => {
    await t.app.sql(`create function hinder() returns trigger language plpgsql as $$ begin ${body} return old; end $$`)
    await t.app.sql(`create trigger hinder before delete on ${table} for each row execute function hinder()`)
  }

  test('a step that fails is reported and counted once, and the other steps run', async () => {
    await hinder('journey_runs', `raise exception 'this one stays';`)
    const before = failures()!
    expect(await keep()).toEqual([{ message: 'this one stays', step: 'journey runs' }])
    expect([await left(), failures()! - before]).toEqual([['journey_runs'], 1])
    await t.app.sql('drop function hinder cascade')
    expect([await keep(), await left()]).toEqual([[], []])
  })

  test('a step that waits for a lock gives up, and the other steps run', async () => {
    const other = await t.app.database.connect()
    await other.query('begin; lock table access_log in access exclusive mode')
    const told = await keep()
    expect(told).toEqual([{ message: expect.stringContaining('lock timeout'), step: 'access log' }])
    await other.end()
    expect(await left()).toEqual(['access_log'])
  })

  test('a step that does not end is abandoned after its time limit, and the other steps run', async () => {
    const other = await t.app.database.connect()
    await other.query('select pg_advisory_lock(1)')
    await hinder('access_log', `set local lock_timeout to 0; perform pg_advisory_xact_lock(1);`)
    const told = await keep({ stepMs: limit(1500), graceMs: limit(1500) })
    expect(told).toEqual([{ message: 'It did not end in time', step: 'access log' }])
    expect(await left()).toEqual(['access_log'])
    // The abandoned step still runs: the next test must begin after its end.
    await other.end()
    await expect.poll(() => left()).toEqual([])
  })

  test('a process that loses the housekeeping lock to another one stops', async () => {
    const other = await t.app.database.connect()
    await other.query('select pg_advisory_lock($1)', [singleLocks.housekeeping])
    const told = await keep()
    await other.end()
    expect([told, await left()]).toEqual([[], ['access_log', 'journey_runs', 'mail_domains', 'rate_windows']])
  })
})

describe('the number of rows that a round reads', () => {
  /** Inserts live rows of each kind that a purge skips. */
  const fill = async (count: number) => {
    const { sql } = t.app
    const id = account.id
    const soon = new Date(now + day)
    await sql(
      `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, due_at, context, entered_at)
       select $2, $3 || n, 'jrn_1', 1, 'lst_1', 'row_' || n, '', 'running', $4, '{}', $5
       from generate_series(1, $1::int) n`,
      [count, id, idAt('run', now - 200 * day), soon, new Date(now - 200 * day)],
    )
    await sql(
      `insert into events (account_id, id, type, payload, created_at)
       select $2, $3 || n, 'deal.won', '{}', $4 from generate_series(1, $1::int) n`,
      [count, id, idAt('evt', now - 50 * day), new Date(now - 50 * day)],
    )
    // Created long ago, and replayed since.
    await sql(
      `insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at)
       select $2, $3 || n, 'tgt_' || n, $5 || n, 'deal.won', 'delivered', $4, $6 from generate_series(1, $1::int) n`,
      [
        count,
        id,
        idAt('dlv', now - 50 * day),
        new Date(now - 50 * day),
        idAt('evt', now - 50 * day),
        new Date(now - day),
      ],
    )
    await sql(
      `insert into delivery_targets (id, account_id, kind, owner_id, url, status, created_at)
       select 'tgt_' || n, $2, 'journey', 'jrn_1', 'https://a.example/' || n, 'active', $3
       from generate_series(1, $1::int) n`,
      [count, id, new Date(now - 50 * day)],
    )
    await sql(
      `insert into access_log (account_id, id, at, actor, email, found)
       select $2, $3 || n, $4, 'key:k', 'a@b.example', 1 from generate_series(1, $1::int) n`,
      [count, id, idAt('log', now - 50 * day), new Date(now - 50 * day)],
    )
    await sql(`insert into mail_domains select n || '.example', 'mx', $2 from generate_series(1, $1::int) n`, [
      count,
      soon,
    ])
    await sql(`insert into rate_windows select 'key_' || n, 'api', now(), 1 from generate_series(1, $1::int) n`, [
      count,
    ])
    // The content of half of these messages was dropped long ago; the others are recent.
    await sql(
      `insert into messages (account_id, id, source_kind, type, email, subject, status, created_at, finished_at, dropped_at)
       select $2, $3 || n, 'send', 'transactional', '', '', 'sent', at, at, case when n % 2 = 0 then at end
       from generate_series(1, $1::int) n, lateral (select case when n % 2 = 0 then $4::timestamptz else $5::timestamptz end as at) t`,
      [count, id, idAt('msg', now - 200 * day), new Date(now - 200 * day), new Date(now - day)],
    )
    await sql(
      `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
       select $2, 'msg_' || n, case when n % 2 = 0 then 'vote' else 'form' end, 'b', '', false, 'int_' || n, 'prj_1', '',
         case when n % 2 = 0 then '"yes"'::jsonb end, $3 from generate_series(1, $1::int) n`,
      [count, id, new Date(now - 200 * day)],
    )
    await sql(
      `with form as (
         insert into forms (account_id, id, name, list_id, fields, double_opt_in, origins, created_at, updated_at)
         values ($2, 'frm_1', 'Form', 'lst_1', '[]', false, '{}', now(), now()) returning id
       )
       insert into form_people (account_id, email, form_id, submitted_at)
       select $2, n || '@acme.test', form.id, now() from form, generate_series(1, $1::int) n`,
      [count, id],
    )
    // An old version that is still checked for runs; all runs are of the next version.
    await sql(
      `insert into journey_versions (account_id, journey_id, version, definition, look_at) values ($1, 'jrn_1', 0, '{}', $2)`,
      [id, new Date(now)],
    )
    await sql('analyze')
  }

  /** Returns the table rows and index entries that one round reads, except the migrations, which each process reads once. The end of its own connections flushes the statistics. */
  const readBy = async (): Promise<Record<string, number>> => {
    const counts = async () => {
      const database = openDatabase(t.url, { max: 1 })
      const rows = await database.sql<{ name: string; rows: number }>(
        `select s.relname as name, s.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::int8 as rows
         from pg_stat_user_tables s left join pg_stat_user_indexes i on i.relid = s.relid
         where s.relname <> 'mikro_orm_migrations' group by s.relid, 1, s.seq_tup_read`,
      )
      await database.close()
      return new Map(rows.map(({ name, rows }) => [name, rows]))
    }
    const before = await counts()
    const app = await openApp(readConfig({ ...t.env, SVC_RESPONSE_RETENTION_DAYS: '30' }), { now: () => new Date(now) })
    await runHousekeeping(app, new AbortController().signal)
    await app.close()
    const after = await counts()
    return Object.fromEntries(
      [...after].map(([name, rows]) => [name, rows - (before.get(name) ?? 0)] as const).filter(([, rows]) => rows > 50),
    )
  }

  test('does not grow with the number of live rows', async () => {
    await leaveOld()
    await fill(5_000)
    expect(await readBy()).toEqual({})
    expect(await left()).not.toContain('rate_windows')
  })
})
