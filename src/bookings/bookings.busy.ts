import { hash } from 'node:crypto'
import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { daysBefore } from '../lib/days.ts'
import { shown } from '../lib/problem.ts'
import { createFairSemaphore } from '../net/fair-semaphore.ts'
import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { busyCalendars } from './bookings.columns.ts'
import type { BusySpan, BusyTimes } from './bookings.ics.ts'

/*
 * Busy times of a host, from the .ics file behind a block's `busyUrl`. The file is read at most once in ten minutes: the result is a row
 * that all processes share, and one process reads the file while the others wait, at most 10 s. If a file can't be read, the last times
 * that were read count for a day; then the host is not busy, because a calendar that is unavailable must not close the block.
 * `svc doctor` reports it. The URL may be secret: it is in no log, no error and no row, which has its hash.
 *
 * The file comes from elsewhere: a repeating rule of one line can describe billions of times, and libraries expand rules in synchronous
 * calls. So ical.js reads it in a thread that can be ended, with at most 5 s and 256 MB. Within it expansion ends after 3 s, 400,000
 * steps or 20,000 times. Single events come first, so a rule that uses up the bounds hides none of them. Temporal converts times of
 * named zones, so that files without the definition of a zone are read, too; other zones are converted by the file's own definition.
 * Changes of later occurrences at once (`RANGE=THISANDFUTURE`) are read as changes of one. `node-ical` was left out: it brings a second
 * Temporal and a second expander. Figure (2026-11-23): `FREQ=SECONDLY` since 1970 beside a single event takes 3.0 s in the thread, and
 * the process answers meanwhile; 15,000 events (1.9 MB) take 1.3 s.
 */

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** How long the last times that were read stand for those of a file that can't be read. */
const keptMs = dayMs
/** How long a result is used; that of a failure, which hides busy times, is tried again sooner. */
const [freshMs, faultMs] = [10 * minuteMs, minuteMs]
const fetchMs = 5_000
const readMs = 5_000
/** How many threads of a process read files at once; others wait, the accounts in turn. */
const readersAtOnce = 2
const queueMs = 5_000
/** A process that has not stored a result by then has died. */
const claimMs = fetchMs + queueMs + readMs + 5_000
const waitMs = 250
const maxBytes = 2_000_000
/** A block offers at most a year, a booking takes at most a day with a buffer of a day, and results are used for minutes. */
const [beforeMs, aheadMs] = [2 * dayMs, 370 * dayMs]
const maxMegabytes = 256

const result = columns(busyCalendars, ['readAt', 'fault', 'busy', 'knownAt'])
type Stored = RowOf<typeof result.types>

const readBusyCalendar = statement(
  'read-busy-calendar',
  { row: result.types, parameters: { accountId: 'text', key: 'text' } },
  `select read_at as "readAt", fault, busy, coalesce(known_at, case when fault is null then read_at end) as "knownAt"
   from busy_calendars where account_id = :accountId and key = :key`,
)

const claim = columns(busyCalendars, ['projectId', 'blockId', 'claimedUntil'])

const claimBusyCalendar = statement(
  'claim-busy-calendar',
  { row: { key: 'text' }, parameters: { accountId: 'text', key: 'text', ...claim.types, now: 'timestamptz' } },
  `insert into busy_calendars (account_id, key, ${claim.names}, busy) values (:accountId, :key, ${claim.values}, '[]')
   on conflict (account_id, key) do update set ${claim.set}
     where busy_calendars.claimed_until is null or busy_calendars.claimed_until < :now
   returning key`,
)

const storeBusyCalendar = statement(
  'store-busy-calendar',
  { parameters: { accountId: 'text', key: 'text', ...result.types, busy: typed<string>('jsonb') } },
  `update busy_calendars set ${result.set}, claimed_until = null where account_id = :accountId and key = :key`,
)

const deleteOld = statement(
  'delete-old-busy-calendars',
  { row: { gone: 'int8' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `with old as materialized (
     select ctid as row from busy_calendars where coalesce(read_at, claimed_until) < :before
       and (:only::text is null or account_id = :only) limit :batchSize for update skip locked
   ), gone as (
     delete from busy_calendars where ctid = any(array(select row from old)) returning 1
   )
   select count(*) as gone from gone`,
)

/** Deletes busy times that were read before `before`: no block needs them any more. */
export const purgeBusyTimes = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 1000, only = null }: Sweep = {},
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(deleteOld, { before, batchSize, only }))[0]!.gone, signal)

/** Reads an .ics file in a thread of its own. Rejects if it takes too long or is no such file. */
const readInThread = (text: string, window: { timezone: string; from: number; until: number }): Promise<BusyTimes> =>
  new Promise((resolve, reject) => {
    const file = join(import.meta.dirname, `bookings.ics.worker${extname(import.meta.filename)}`)
    const thread = new Worker(file, {
      workerData: { text, window },
      resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
      // Warnings of a file that is no calendar are no output of ours.
      stdout: true,
      stderr: true,
    })
    const deadline = setTimeout(() => {
      reject(new Error('it takes too long to read'))
      void thread.terminate()
    }, readMs)
    thread.once('message', resolve)
    thread.once('error', () => reject(new Error('it is no iCalendar file that can be read')))
    thread.once('exit', () => {
      clearTimeout(deadline)
      reject(new Error('it is no iCalendar file that can be read'))
    })
  })

const readers = createFairSemaphore(readersAtOnce)

const readInTurn = async (
  accountId: string,
  ...[text, window]: Parameters<typeof readInThread>
): Promise<BusyTimes> => {
  if (!(await readers.enter(accountId, queueMs))) throw new Error('too many other calendars are being read')
  try {
    return await readInThread(text, window)
  } finally {
    readers.leave()
  }
}

interface Source {
  url: string
  timezone: string
}

/** Fetches and reads the file. Returns `busy` null if it can't be read. Never rejects. */
const load = async (
  { http }: Pick<App, 'http'>,
  accountId: string,
  { url, timezone }: Source,
  nowMs: number,
): Promise<{ fault: string | null; busy: BusySpan[] | null }> => {
  const address = url.replace(/^webcal:/i, 'https:')
  const accept = 'text/calendar, */*;q=0.1'
  const { body, error } = await http.get(address, { accept, timeoutMs: fetchMs, maxBytes, accountId })
  if (error !== null) return { fault: error, busy: null }
  try {
    const window = { timezone, from: nowMs - beforeMs, until: nowMs + aheadMs }
    const { busy, isPartial, unknownZone } = await readInTurn(accountId, body.toString('utf8'), window)
    if (isPartial) return { fault: 'only a part of its busy times could be read', busy }
    const fault = unknownZone === null ? null : `its time zone ${shown(unknownZone)} is unknown: read as ${timezone}`
    return { fault, busy }
  } catch (error) {
    return { fault: (error as Error).message, busy: null }
  }
}

interface Block {
  accountId: string
  projectId: string
  blockId: string
}

/** Returns until when a result is used, in epoch ms. A file of which a part was read counts as read. */
const endOf = ({ readAt, fault, busy, knownAt }: Stored): number => {
  if (readAt === null) return 0
  const isRead = fault === null || (busy.length > 0 && knownAt?.getTime() === readAt.getTime())
  return readAt.getTime() + (isRead ? freshMs : faultMs)
}

/** Returns the result of a file that can't be read: the last times that were read, for a day. */
const keep = (stored: Stored | undefined, readAt: Date, fault: string | null): Stored => {
  const knownAt = stored?.knownAt ?? null
  const isKept = knownAt !== null && readAt.getTime() - knownAt.getTime() <= keptMs
  return { readAt, fault, busy: isKept ? stored!.busy : [], knownAt: isKept ? knownAt : null }
}

/** Returns the stored result once it is fresh: reads the file, or waits for the process that reads it. */
const refresh = async (app: App, { accountId, projectId, blockId }: Block, source: Source, key: string) => {
  const until = performance.now() + claimMs
  const open = <T>(run: (work: Work) => Promise<T>) => app.work(accountId, 'page:booking', run)
  for (;;) {
    const now = app.now()
    const [stored] = await app.sql(readBusyCalendar, { accountId, key })
    if (stored && endOf(stored) > now.getTime()) return stored
    const claimedUntil = new Date(now.getTime() + claimMs)
    const claimed = await open(({ sql }) =>
      sql(claimBusyCalendar, { accountId, key, projectId, blockId, now, claimedUntil }),
    )
    if (claimed.length > 0) {
      const { fault, busy } = await load(app, accountId, source, now.getTime())
      const readAt = app.now()
      const result = busy ? { readAt, fault, busy, knownAt: readAt } : keep(stored, readAt, fault)
      const values = { readAt, fault, busy: JSON.stringify(result.busy), knownAt: result.knownAt }
      await open(({ sql }) => sql(storeBusyCalendar, { accountId, key, ...values }))
      return result
    }
    if (performance.now() > until) return keep(stored, now, 'it takes too long to read')
    await sleep(waitMs)
  }
}

interface Cached {
  stored: Promise<Stored>
  /** epoch ms; infinite while it is being read. */
  until: number
}

const maxCached = 1_000
/** The caches by database, since a process may have several in tests. */
const caches = new WeakMap<App['database'], Map<string, Cached>>()

/** Returns the busy times of the host of a block; none if it has no `busyUrl`, or if the file can't be read. */
export const busyTimes = async (
  app: App,
  block: Block,
  { busyUrl, timezone }: { busyUrl?: string | undefined; timezone: string },
): Promise<readonly BusySpan[]> => {
  if (busyUrl === undefined) return []
  const key = hash('sha256', `${busyUrl}\n${timezone}`)
  const cache = caches.get(app.database) ?? new Map<string, Cached>()
  caches.set(app.database, cache)
  const name = `${block.accountId} ${key}`
  const cached = cache.get(name)
  if (cached && cached.until > app.now().getTime()) return (await cached.stored).busy
  if (cache.size >= maxCached) cache.clear()
  const entry: Cached = {
    stored: refresh(app, block, { url: busyUrl, timezone }, key),
    until: Number.POSITIVE_INFINITY,
  }
  cache.set(name, entry)
  try {
    const stored = await entry.stored
    entry.until = endOf(stored)
    return stored.busy
  } catch (error) {
    cache.delete(name)
    throw error
  }
}

const block = columns(busyCalendars, ['accountId', 'projectId', 'blockId'])
const faulty = {
  ...block.types,
  fault: 'text',
  /** The busy times that count: those of the faulty file, those that were read last, or none. */
  used: typed<'read' | 'kept' | 'none'>('text'),
} as const
/** A block whose host’s busy times could not be read, or only with an error, when they were needed last. */
type FaultyCalendar = RowOf<typeof faulty>

const readFaultyCalendars = statement(
  'faulty-busy-calendars',
  { row: faulty, parameters: { readAt: 'timestamptz' } },
  `select ${block.list}, fault,
     case when known_at is null then 'none' when known_at = read_at then 'read' else 'kept' end as used from busy_calendars
   where fault is not null and read_at > :readAt::timestamptz - interval '1 day' order by read_at desc limit 20`,
)

/** Returns the blocks of the last day whose busy times could not be read, or only with an error, of all accounts. */
export const faultyCalendars = ({ sql, now }: Pick<App, 'sql' | 'now'>): Promise<FaultyCalendar[]> =>
  sql(readFaultyCalendars, { readAt: now() })

export const jobs = [
  defineJob('busy times', {
    does: 'Deletes busy times of hosts that no booking block has needed for 30 days',
    runFor: (app, sweep) => purgeBusyTimes(app, daysBefore(app.now(), 30), sweep),
  }),
]
