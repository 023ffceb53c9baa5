import { afterEach, describe, expect, test } from 'vitest'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { type ThreadName, threads } from '../../src/app/schedule.ts'
import { idAt } from '../../src/lib/ids.ts'
import { createSmtpClient } from '../../src/net/smtp.ts'
import type { Loop, Step } from '../../src/store/background.ts'
import type { Report } from '../../src/store/work.ts'
import { useContacts } from '../contacts/support.ts'
import { audience } from '../support/broadcasts.ts'
import { emitEvents, subscribe } from '../support/deliveries.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { useReceiver } from '../support/receiver.ts'
import { useSink } from '../support/smtp.ts'
import { makeWebinar, register } from '../webinars/support.ts'

/*
 * An account whose rows can't be changed does not stop the work for other accounts. Each case creates work of one kind for three
 * accounts, makes a trigger refuse changes of the second account, and runs that kind of work.
 */

const receiver = useReceiver()
const sink = useSink()
const t = useContacts(() => ({
  env: {
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
    SVC_SMTP_URL: sink.url,
    SVC_JOURNEY_RETENTION_DAYS: '800',
    SVC_RESPONSE_RETENTION_DAYS: '30',
  },
}))

const never = new AbortController().signal

interface Case {
  /** The table whose rows of the broken account refuse changes. */
  table: string
  /** Creates an account; default: one without anything. */
  account?(): Promise<{ id: string }>
  /** Creates work for the account: SQL with its id as $1, or a call. */
  given: string | ((accountId: string) => Promise<unknown>)
  /** A row that is there as long as the work is not done: SQL with the account's id as $1. */
  left: string
}

const yearAgo = `now() - interval '400 days'`
const oldId = (prefix: Parameters<typeof idAt>[0]) => `'${idAt(prefix, Date.now() - 400 * 86_400_000)}' || $1`

const run = (id: string, more: { status: string; due: string; ended: string; context?: string; version?: string }) =>
  `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at, ended_at)
   select $1, ${id}, 'jrn_' || $1, 1, 'lst_1', 'row_1', '', '${more.status}', '{}', ${more.due}, '${more.context ?? '{}'}', ${yearAgo}, ${more.ended}`

/** The cases of each job by thread; a text: why it has none. */
const cases: Record<ThreadName, Record<string, readonly Case[] | string>> = {
  deliveries: {
    deliveries: [
      {
        table: 'ended_deliveries',
        given: async (id) => {
          await subscribe(t.app, id, receiver.url)
          await emitEvents(t.app, id)
        },
        left: 'select from pending_deliveries where account_id = $1',
      },
    ],
  },
  mail: {
    messages: [
      {
        table: 'messages',
        account: () => sendingAccount(t),
        given: (id) => queueMany(t.app, id, 1),
        left: `select from messages where account_id = $1 and status = 'pending'`,
      },
    ],
    broadcasts: [
      {
        table: 'broadcasts',
        account: async () => {
          const { account, listId, projectId } = await audience(t, 1)
          await t.app.sql(
            `insert into broadcasts (account_id, id, status, name, list_id, project_id, recipients, scheduled_at, created_at)
             values ($1, 'brd_' || $1, 'scheduled', 'News', $2, $3, 0, now() + interval '1 hour', now())`,
            [account.id, listId, projectId],
          )
          return account
        },
        given: `update broadcasts set scheduled_at = now() where account_id = $1`,
        left: 'select from broadcasts where account_id = $1 and started_at is null',
      },
    ],
    reminders: [
      {
        table: 'webinar_registrations',
        account: async () => {
          const account = await sendingAccount(t)
          const { id } = await makeWebinar(t, account, { scheduledAt: Date.now() + 30 * 60_000 })
          await register(t, account, id, 'ada@people.example')
          return account
        },
        given: 'update webinar_registrations set remind_at = now() where account_id = $1',
        left: 'select from webinar_registrations where account_id = $1 and remind_at <= now()',
      },
    ],
    'booking reminders': [
      {
        table: 'bookings',
        account: () => sendingAccount(t),
        given: `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email,
            sequence, remind_at, created_at, updated_at)
          select $1, 'bkg_' || $1, 'prj_1', 'msg_1', 'call', 'confirmed', 'A call', now() + interval '2 hours', now() + interval '3 hours', 'UTC', 'P',
            'ada@people.example', 0, now(), now(), now()`,
        left: 'select from bookings where account_id = $1 and remind_at <= now()',
      },
    ],
    mailboxes: [
      {
        table: 'bounce_mailboxes',
        given: `insert into bounce_mailboxes (account_id, host, port, is_secure, username, folder, updated_at)
          select $1, '127.0.0.1', 9, false, 'me', 'INBOX', now()`,
        left: 'select from bounce_mailboxes where account_id = $1 and read_at is null',
      },
    ],
  },
  journeys: {
    // A run of a deleted journey is cancelled once it is due.
    journeys: [
      {
        table: 'journey_runs',
        given: run(`'run_' || $1`, { status: 'waiting', due: 'now()', ended: 'null' }),
        left: `select from journey_runs where account_id = $1 and status = 'waiting'`,
      },
    ],
    results: [
      {
        table: 'message_results',
        given: `insert into message_result_changes (account_id, day, metric, count) select $1, current_date, 'sent', 1`,
        left: 'select from message_result_changes where account_id = $1',
      },
    ],
  },
  housekeeping: {
    'account deletions': [
      {
        table: 'api_keys',
        given: 'update accounts set deleted_at = now() where id = $1',
        left: 'select from accounts where id = $1',
      },
    ],
    'list deletions': [
      {
        table: 'deleted_lists',
        given: `insert into deleted_lists (account_id, id, name, started_at) select $1, 'lst_' || $1, '', now()`,
        left: 'select from deleted_lists where account_id = $1',
      },
    ],
    'course deletions': [
      {
        table: 'deleted_courses',
        given: `insert into deleted_courses (account_id, id, started_at) select $1, 'crs_' || $1, now()`,
        left: 'select from deleted_courses where account_id = $1',
      },
    ],
    'form deletions': [
      {
        table: 'form_people',
        given: `insert into form_people (account_id, email, form_id, submitted_at) select $1, 'ada@people.example', 'frm_none', now()`,
        left: 'select from form_people where account_id = $1',
      },
    ],
    'topic deletions': [
      {
        table: 'topics',
        given: `insert into topics (account_id, id, name, description, created_at, deleted_at) select $1, 'top_' || $1, 'News', '', ${yearAgo}, ${yearAgo}`,
        left: 'select from topics where account_id = $1',
      },
    ],
    'domain checks': [
      {
        table: 'addresses',
        given: `insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons)
          select $1, 'ada@acme.test', 'row_' || $1, 'acme.test', 'unknown', '{dns_timeout}'`,
        left: `select from addresses where account_id = $1 and verification_status = 'unknown'`,
      },
    ],
    deliveries: [
      {
        table: 'ended_deliveries',
        given: `insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at)
          select $1, ${oldId('dlv')}, 'tgt_none', ${oldId('evt')}, 'deal.won', 'delivered', ${yearAgo}, ${yearAgo}`,
        left: 'select from ended_deliveries where account_id = $1',
      },
    ],
    'delivery targets': [
      {
        table: 'delivery_targets',
        given: `insert into delivery_targets (account_id, id, kind, url, status, created_at, deleted_at)
          select $1, 'tgt_' || $1, 'subscription', 'http://127.0.0.1:9', 'deleted', ${yearAgo}, ${yearAgo}`,
        left: 'select from delivery_targets where account_id = $1',
      },
      {
        table: 'delivery_targets',
        given: `insert into delivery_targets (account_id, id, kind, url, status, created_at, former_sealed_secret, former_secret_until)
          select $1, 'tgt_' || $1, 'subscription', 'http://127.0.0.1:9', 'active', ${yearAgo}, 'x', ${yearAgo}`,
        left: 'select from delivery_targets where account_id = $1 and former_secret_until is not null',
      },
    ],
    'journey deletions': [
      {
        table: 'journey_versions',
        given: `insert into journey_versions (account_id, journey_id, version, definition, look_at) select $1, 'jrn_' || $1, 1, '{}', now()`,
        left: 'select from journey_versions where account_id = $1',
      },
    ],
    'journey runs': [
      {
        table: 'journey_runs',
        given: run(oldId('run'), { status: 'completed', due: yearAgo, ended: `now() - interval '900 days'` }),
        left: 'select from journey_runs where account_id = $1',
      },
    ],
    'journey versions': [
      {
        table: 'journey_versions',
        given: `with journey as (
            insert into journeys (account_id, id, name, enabled, trigger_kind, version, created_at, updated_at)
            values ($1, 'jrn_' || $1, '', true, 'api', 2, now(), now())
          ) insert into journey_versions (account_id, journey_id, version, definition, look_at) select $1, 'jrn_' || $1, 1, '{}', ${yearAgo}`,
        left: 'select from journey_versions where account_id = $1',
      },
    ],
    'message contents': [
      {
        table: 'messages',
        given: `insert into messages (account_id, id, source_kind, type, email, subject, text, status, created_at, finished_at)
          select $1, ${oldId('msg')}, 'send', 'transactional', 'ada@people.example', '', 'Hi', 'sent', ${yearAgo}, ${yearAgo}`,
        left: 'select from messages where account_id = $1 and text is not null',
      },
    ],
    'journey data': [
      {
        table: 'journey_runs',
        given: run(oldId('run'), { status: 'completed', due: yearAgo, ended: yearAgo, context: '{ "data": 1 }' }),
        left: `select from journey_runs where account_id = $1 and context ? 'data'`,
      },
    ],
    'reported events': [
      {
        table: 'activities',
        given: `insert into activities (account_id, id, email, name, at) select $1, ${oldId('act')}, 'ada@people.example', 'x', ${yearAgo}`,
        left: 'select from activities where account_id = $1',
      },
    ],
    'response texts': [
      {
        table: 'interactions',
        given: `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
          select $1, 'msg_1', 'form', 'b', '', false, ${oldId('int')}, 'prj_1', '', '{}', ${yearAgo}`,
        left: 'select from interactions where account_id = $1 and value is not null',
      },
    ],
    'access log': [
      {
        table: 'access_log',
        given: `insert into access_log (account_id, id, at, actor, email, found) select $1, ${oldId('log')}, ${yearAgo}, 'key:k', 'ada@people.example', 1`,
        left: 'select from access_log where account_id = $1',
      },
    ],
    imports: [
      {
        table: 'imports',
        given: `insert into imports (account_id, id, list_id, file, options, status, started_at)
          select $1, ${oldId('imp')}, 'lst_1', 'x.csv', '{}', 'done', ${yearAgo}`,
        left: 'select from imports where account_id = $1',
      },
      {
        table: 'import_rejects',
        given: `with import as (
            insert into imports (account_id, id, list_id, file, options, status, started_at)
            select $1, ${oldId('imp')}, 'lst_1', 'x.csv', '{}', 'done', ${yearAgo}
          ) insert into import_rejects (account_id, import_id, line, email, reason) select $1, ${oldId('imp')}, 1, 'x', 'y'`,
        left: 'select from import_rejects where account_id = $1',
      },
    ],
    'signup links': [
      {
        table: 'form_signups',
        given: `with address as (
            insert into addresses (account_id, email, row_id, domain) select $1, 'ada@people.example', 'row_' || $1, 'people.example'
          ), contact as (
            insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
            select $1, 'row_' || $1, 'lst_1', 'ada@people.example', '{}', 'pending', now(), now()
          ), message as (
            insert into messages (account_id, id, source_kind, type, email, subject, status, created_at, finished_at)
            select $1, 'msg_' || $1, 'lifecycle', 'transactional', 'ada@people.example', '', 'failed', now(), now()
          ) insert into form_signups (account_id, row_id, list_id, form_id, form_name, mailed_at, message_id, shown)
          select $1, 'row_' || $1, 'lst_1', 'frm_1', 'Form', now() - interval '10 minutes', 'msg_' || $1, '[]'`,
        left: 'select from form_signups where account_id = $1 and tries = 0',
      },
    ],
    signups: [
      {
        table: 'form_signups',
        given: `insert into form_signups (account_id, row_id, list_id, form_id, form_name, mailed_at)
          select $1, 'row_' || $1, 'lst_1', 'frm_1', 'Form', ${yearAgo}`,
        left: 'select from form_signups where account_id = $1',
      },
    ],
    'busy times': [
      {
        table: 'busy_calendars',
        given: `insert into busy_calendars (account_id, key, project_id, block_id, read_at, busy) select $1, 'key', 'prj_1', 'b', ${yearAgo}, '[]'`,
        left: 'select from busy_calendars where account_id = $1',
      },
    ],
    'mail domains': 'They belong to no account',
    'rate windows': 'They belong to keys and client addresses',
    tallies: [
      {
        table: 'day_counts',
        given: `insert into day_tallies (account_id, subject, day, counts) select $1, 'deals', current_date, '{ "created": 1 }'`,
        left: 'select from day_tallies where account_id = $1',
      },
    ],
  },
}

/** Runs a job. Returns what ends it. */
const start = async (thread: ThreadName, name: string, report: Report): Promise<() => Promise<unknown>> => {
  if (thread === 'housekeeping') {
    await runHousekeeping(t.app, never, report)
    return async () => {}
  }
  const stop = new AbortController()
  const jobs: readonly (Loop | Step)[] = await threads.find((one) => one.name === thread)!.jobs()
  const app = { ...t.app, smtp: createSmtpClient(t.app.resolver) }
  const running = (jobs.find((job) => job.name === name) as Loop).run(app, stop.signal, report, {})
  return () => {
    stop.abort()
    return running
  }
}

const refuse = async (table: string, accountId: string) => {
  await t.app.sql(
    `create function refuse() returns trigger language plpgsql as $$ begin
       if coalesce(to_jsonb(new), to_jsonb(old)) ->> 'account_id' = '${accountId}' then raise 'refused'; end if;
       return coalesce(new, old);
     end $$`,
  )
  await t.app.sql(
    `create trigger refuse before insert or update or delete on ${table} for each row execute function refuse()`,
  )
}

afterEach(() => t.app.sql('drop function if exists refuse cascade'))

test('each job has a case', async () => {
  const found = threads.map(async ({ name, jobs }) => (await jobs()).map((job) => `${name}: ${job.name}`))
  const known = Object.entries(cases).flatMap(([thread, jobs]) => Object.keys(jobs).map((job) => `${thread}: ${job}`))
  expect(known.toSorted()).toEqual((await Promise.all(found)).flat().toSorted())
})

const each = Object.entries(cases).flatMap(([thread, jobs]) =>
  Object.entries(jobs).flatMap(([job, list]) =>
    typeof list === 'string' ? [] : list.map((one) => [thread as ThreadName, job, one.table, one] as const),
  ),
)

describe('an account that is broken ends no other turn, and is reported', () => {
  test.each(each)('%s: %s (%s)', async (thread, job, table, { account = () => t.account(), given, left }) => {
    const accounts = [await account(), await account(), await account()]
    const broken = accounts[1]!.id
    for (const { id } of accounts) {
      if (typeof given !== 'string') await given(id)
      else
        await t.app.database.transaction(async (sql) => {
          // The rows refer to nothing.
          await sql('set local session_replication_role = replica')
          await sql(given, [id])
        })
    }
    const remaining = async () => {
      const found = await Promise.all(accounts.map(({ id }) => t.app.sql(left, [id])))
      return accounts.flatMap(({ id }, i) => (found[i]!.length > 0 ? [id] : []))
    }
    expect(await remaining()).toEqual(accounts.map(({ id }) => id))
    await refuse(table, broken)
    const reported: string[] = []
    const end = await start(thread, job, (error) => void reported.push((error as Error).message))
    try {
      await expect.poll(async () => [await remaining(), [...new Set(reported)]]).toEqual([[broken], ['refused']])
    } finally {
      await end()
    }
  })
})

test('an error of a step whose time ends before it reaches the broken account is reported', async () => {
  const { id } = await t.account()
  await t.app.sql(
    `insert into day_tallies (account_id, subject, day, counts) values ($1, 'deals', current_date, '{ "created": 1 }')`,
    [id],
  )
  await refuse('day_counts', id)
  const stop = new AbortController()
  // Ends the time of the step once it begins with one account after the other.
  const sql = ((query, ...values) => {
    if (typeof query === 'object' && query.name === 'accounts-to-keep') stop.abort()
    return t.app.sql(query, ...values)
  }) as typeof t.app.sql
  const reported: unknown[] = []
  await runHousekeeping({ ...t.app, sql }, stop.signal, (error, about) => {
    reported.push([(error as Error).message, about])
  })
  expect(reported).toEqual([['refused', { step: 'tallies' }]])
})
