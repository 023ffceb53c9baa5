import { setTimeout as sleep } from 'node:timers/promises'
import { activeAccounts } from '../../accounts/accounts.rows.ts'
import { coalesceCalls } from '../../lib/coalesce.ts'
import { isSharedFailure } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { App } from '../../store/work.ts'
import type { WebinarRow } from '../sessions/sessions.find.ts'
import { webinars } from '../webinars.columns.ts'

/*
 * The reports of presence of the join pages: each open page reports once a minute. Reports of one person come from several tabs, by way
 * of several daemons, in any order and more than once. A registration has one multirange of times. A report adds the two minutes that
 * begin with it, and PostgreSQL merges ranges that overlap, so adding is exact in any order and however often.
 *
 * These are the most frequent calls of a webinar, so the reports of a tenth of a second share one statement, of all accounts, which
 * skips locked registrations. An answered report is stored. A killed daemon loses the reports that it has not answered; the page
 * reports again a minute later. Figure (2026-11-23): 5,000 attendees take 4.5 and 5.5 % of a core over the connections of a proxy, at a
 * load of 8 to 9 on 2 cores. With a connection for each report they take 1.05 times as much as requests for unknown routes (test/bench).
 *
 * Attendance is decided once, five seconds after the end: the end sets that time in each registration, in the column of the reminders.
 * Their job then writes in one transaction for each batch whether the person attended, one of two emails, and the runs of journeys, so
 * that a daemon that dies in between loses nothing. Emails leave 5 to 15 seconds after the end. Later reports do not count.
 */

interface Report {
  accountId: string
  registrationId: string
  at: Date
}

type Status = WebinarRow['status']

/*
 * `offset 0` makes PostgreSQL look up each registration by its key, whatever its statistics say. A locked registration is skipped, so that
 * one account never delays the others: it is being cancelled or erased, decided after the end, or another daemon stores a report of
 * the same person.
 */
const record = preparedStatement(
  'record-presence',
  {
    row: { n: 'int8', ...types(webinars, 'status'), counts: 'bool' },
    parameters: { accountIds: '_text', registrationIds: '_text', times: '_timestamptz' },
  },
  `with report as materialized (
     select p.n, p.at, r.account_id, r.id, w.status,
       not r.is_decided and p.at >= coalesce(w.started_at, 'infinity') and p.at < coalesce(w.ended_at, 'infinity') as counts
     from unnest(:accountIds::text[], :registrationIds::text[], :times::timestamptz[]) with ordinality as p(account_id, id, at, n)
     cross join lateral (
       select account_id, id, webinar_id, attended is not null as is_decided from webinar_registrations
       where account_id = p.account_id and id = p.id and status = 'confirmed' and email <> '' offset 0
     ) r
     cross join lateral (
       select status, started_at, ended_at from webinars where account_id = r.account_id and id = r.webinar_id offset 0
     ) w
     join ${activeAccounts} a on a.id = r.account_id
   ), locked as (
     select r.account_id, r.id, p.at from report p
     join webinar_registrations r on r.account_id = p.account_id and r.id = p.id
     where p.counts and r.status = 'confirmed' and r.email <> '' and r.attended is null for no key update of r skip locked
   ), stored as (
     update webinar_registrations r
     set seen = coalesce(r.seen, '{}') + tstzmultirange(tstzrange(l.at, l.at + interval '2 minutes'))
     from locked l where r.account_id = l.account_id and r.id = l.id
   )
   select n, status, counts from report`,
)

const maxBatch = 1000
const paceMs = 100

const storeAll = coalesceCalls(
  maxBatch,
  async ({ sql }: Pick<App, 'sql'>, reports: readonly Report[]) => {
    await sleep(paceMs)
    const rows = await sql(record, {
      accountIds: reports.map(({ accountId }) => accountId),
      registrationIds: reports.map(({ registrationId }) => registrationId),
      times: reports.map(({ at }) => at),
    })
    const byNumber = new Map(rows.map((row) => [row.n, row]))
    return reports.map((_, i) => byNumber.get(i + 1) ?? null)
  },
  { isShared: isSharedFailure, subjectOf: ({ registrationId }: Report) => registrationId },
)

/** A second tab, or a replay, within this time of a report that counts gets its answer. */
const sharedMs = 1_000
const maxShared = 20_000

interface Answer {
  at: number
  answer: Promise<Status | null>
}

/** The last reports by registration, the oldest first, for each database. */
const answers = new WeakMap<object, Map<string, Answer>>()

/**
 * Stores that the person of a registration has the join page open now, if the webinar is live and the person has a seat. Returns the webinar's
 * state; null for a registration without a seat, or of a person or account that was deleted.
 */
export const recordPresence = (
  app: Pick<App, 'database' | 'now' | 'sql'>,
  accountId: string,
  registrationId: string,
): Promise<Status | null> => {
  const now = app.now()
  const nowMs = now.getTime()
  const key = `${accountId} ${registrationId}`
  const known = answers.getOrInsertComputed(app.database, () => new Map<string, Answer>())
  const last = known.get(key)
  if (last && Math.abs(nowMs - last.at) < sharedMs) return last.answer
  const stored = storeAll(app, app.database, '', { accountId, registrationId, at: now })
  const answer = stored.then((reported) => reported?.status ?? null)
  const entry = { at: nowMs, answer }
  known.delete(key)
  known.set(key, entry)
  if (known.size > maxShared) known.delete(known.keys().next().value!)
  const forget = () => {
    if (known.get(key) === entry) known.delete(key)
  }
  stored.then((reported) => reported?.counts || forget(), forget)
  return answer
}
