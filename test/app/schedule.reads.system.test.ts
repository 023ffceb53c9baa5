import { beforeAll, describe, expect, test } from 'vitest'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { loadLooks } from '../../src/app/daemon/jobs.looks.ts'
import { remindBookings } from '../../src/bookings/bookings.remind.ts'
import { readMailboxes } from '../../src/bounces/mailboxes.read.ts'
import { runBroadcasts } from '../../src/broadcasts/broadcasts.loop.ts'
import { isTargetDue } from '../../src/deliveries/queue/deliveries.claim.ts'
import { findDue, isAnythingDue } from '../../src/journeys/engine/runs.due.ts'
import { findDue as findDueMail } from '../../src/messages/outbox/outbox.claim.ts'
import { hasMessages } from '../../src/messages/outbox/outbox.run.ts'
import { foldResults } from '../../src/results/fold.ts'
import { remindDue } from '../../src/webinars/reminders/reminders.due.ts'
import { type TestAccount, useAccount, useApp } from '../support/app.ts'
import { reportStatistics } from '../support/database.ts'

/*
 * What a turn of each scheduler reads beside rows that are not due, and beside due rows of an account that is being deleted. The
 * server counts the rows and index entries that scans return, whatever the statements are.
 */

const rows = 5_000
/** Far below the number of rows, and above what the turns read of small tables. */
const mostReads = 400

const t = useApp()
const neighbour = useAccount(t)

/** Inserts rows of an account into each table that a scheduler reads, due at the time `due` (SQL). */
const insertRows = async ({ id }: TestAccount, due: string) => {
  const numbers = `generate_series(1, ${rows}) n`
  const name = (prefix: string) => `'${prefix}_${id}_' || n`
  const statements = [
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select '${id}', ${name('reg')}, 'web_${id}_' || n % 1250, 'a' || n || '@x.example', '', 'confirmed', n, ${due}, now(), now() from ${numbers}`,
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email, sequence, remind_at, created_at, updated_at)
     select '${id}', ${name('bkg')}, 'p' || n, 'm' || n, 'b', 'confirmed', '', now(), now(), 'UTC', '', 'a@x.example', 0, ${due}, now(), now() from ${numbers}`,
    `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
     select '${id}', ${name('run')}, 'jrn_1', 1, 'lst_1', 'row_' || n, '', 'waiting', '{}', ${due}, '{}', now() from ${numbers}`,
    `insert into message_queue (account_id, id, due_at, is_patient) select '${id}', ${name('msg')}, ${due}, true from ${numbers}`,
    `insert into broadcasts (account_id, id, status, name, list_id, project_id, recipients, queued, suppressed, sent, failed, scheduled_at, created_at)
     select '${id}', ${name('brd')}, 'scheduled', '', 'lst_1', 'prj_1', 0, 0, 0, 0, 0, ${due}, now() from ${numbers}`,
    `insert into message_result_changes (account_id, project_id, cause, day, metric, count, email, url)
     select '${id}', null, null, current_date, 'sent', 1, 'a' || n || '@x.example', null from ${numbers}`,
    `insert into delivery_targets (id, account_id, kind, url, status, created_at, next_due_at)
     values ('tgt_${id}', '${id}', 'subscription', 'http://127.0.0.1:9', 'active', now(), now() + interval '1 hour')`,
    `insert into pending_deliveries (account_id, id, target_id, key, type, bytes, due_at, created_at)
     select '${id}', ${name('dlv')}, 'tgt_${id}', 'k', 't', 1, ${due}, now() from ${numbers}`,
  ]
  await t.app.database.transaction(async (sql) => {
    // The rows refer to nothing: no scheduler gets that far.
    await sql('set local session_replication_role = replica')
    for (const statement of statements) await sql(statement)
  })
  await t.app.sql('analyze')
}

const countReads = async (): Promise<number> => {
  await reportStatistics(t.app.database)
  const [row] = await t.app.sql<{ reads: number }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes) + (select sum(seq_tup_read) from pg_stat_user_tables) as reads`,
  )
  return Number(row!.reads)
}

const readsOf = async (run: () => Promise<unknown>): Promise<number> => {
  const before = await countReads()
  await run()
  return (await countReads()) - before
}

const fail = (error: unknown) => {
  throw error
}
const never = new AbortController().signal

/** Runs a turn of the loop that sends broadcasts. */
const broadcastTurn = async () => {
  const stop = new AbortController()
  const turned = Promise.withResolvers<void>()
  const app = {
    ...t.app,
    sql: (async (...query: Parameters<typeof t.app.sql>) => {
      const found = await t.app.sql(...query)
      turned.resolve()
      return found
    }) as typeof t.app.sql,
  }
  const running = runBroadcasts(app, stop.signal, fail)
  await turned.promise
  stop.abort()
  await running
}

const capacity = { total: 100, accounts: new Map(), accountDefault: 100, except: [] }

const schedulers: [string, () => Promise<unknown>][] = [
  ['deliveries', () => t.app.sql(`select ${isTargetDue}`)],
  ['messages', () => findDueMail(t.app.sql)],
  ['broadcasts', broadcastTurn],
  ['reminders', () => remindDue(t.app, never, fail, new Set())],
  ['booking reminders', () => remindBookings(t.app, never, fail, new Set())],
  ['mailboxes', () => readMailboxes(t.app, never, fail)],
  ['whether journeys are due', () => isAnythingDue(t.app.sql, t.app.now())],
  ...Object.entries({ ...(await loadLooks('deliveries')), ...(await loadLooks('mail')), messages: hasMessages }).map(
    ([scheduler, hasWork]): [string, () => Promise<unknown>] => [
      `heartbeats that look for ${scheduler}`,
      () => t.app.sql(`select (${hasWork})`),
    ],
  ),
  ['journeys', () => findDue(t.app.database, t.app.now(), capacity)],
]

describe('beside rows that are not due', () => {
  beforeAll(async () => {
    await insertRows(neighbour, `now() + interval '1 hour'`)
    // These changes are always due. Scans read the index entries of deleted rows until a vacuum.
    await foldResults(t.app, undefined, fail)
    await t.app.sql('vacuum message_result_changes')
  })

  test.each(schedulers)('%s read nothing of them', async (_, turn) => {
    await turn()
    expect(await readsOf(turn)).toBeLessThan(mostReads)
  })

  test('results read nothing of them', async () => {
    expect(await readsOf(() => foldResults(t.app, undefined, fail))).toBeLessThan(mostReads)
  })

  test('housekeeping reads nothing of them', async () => {
    const turn = () => runHousekeeping(t.app, never, fail)
    await turn()
    expect(await readsOf(turn)).toBeLessThan(mostReads)
  })
})

describe('beside due rows of an account that is being deleted', () => {
  beforeAll(async () => {
    const closed = await t.account()
    await insertRows(closed, `now() - interval '1 hour'`)
    await t.app.sql('update accounts set deleted_at = now() where id = $1', [closed.id])
  })

  test.each(schedulers)('%s read nothing of them', async (_, turn) => {
    await turn()
    expect(await readsOf(turn)).toBeLessThan(mostReads)
  })

  test('results read nothing of them', async () => {
    expect(await readsOf(() => foldResults(t.app, undefined, fail))).toBeLessThan(mostReads)
  })
})
