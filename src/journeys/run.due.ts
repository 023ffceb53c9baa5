import type { QueueView } from '../queue/loop.ts'
import type { Database, Sql } from '../store/database.ts'
import { lockKey } from '../store/locks.ts'
import type { Work } from '../store/work.ts'
import type { Cursor } from './journeys.walk.ts'

/*
 * Which runs are due, and who walks them. Nobody owns a run between units of work: a unit takes an advisory lock on each of
 * its runs, which ends with its transaction however that ends. So nothing is leased, nothing can be left claimed, and no
 * process has to reckon with another's clock. The lock spares work done twice, no more: what makes a step exact is the
 * run's `revision`, by which alone it is recorded (run.record.ts).
 *
 * The tables empty and fill within seconds, so their statistics are always wrong. The only good plans walk indexes row by
 * row: the others are switched off for these transactions.
 */

/** A run whose next step is due. */
export interface DueRun {
  accountId: string
  id: string
  journeyId: string
  /** Its version and where in it the run stands. */
  place: string
}

/** How much may be taken, and which runs are not to be. Who is not named in `accounts` has `accountDefault`. */
export interface Rooms {
  total: number
  accounts: ReadonlyMap<string, number>
  accountDefault: number
  except: readonly string[]
}

const off = (...names: string[]) => names.map((name) => `set_config('${name}', 'off', true)`).join(', ')
const rowByRow = off('enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin')
const inOrder = off('enable_sort', 'enable_incremental_sort')

const open = `status in ('running', 'waiting') and delivery_id is null`
const due = 'greatest(due_at, retry_at)'
/** The same, as the index by account has it. */
const dueByAccount = 'greatest(retry_at, due_at)'
const columns = `account_id as "accountId", id, journey_id as "journeyId", version || ' ' || cursor as place`

/** Runs whose next step is due. */
export const journeysQueue: QueueView = {
  name: 'journeys',
  due: `select ${due} as due_at from clock, journey_runs where ${open} and ${due} <= clock.now`,
}

/** Runs of accounts that are being deleted go with them. */
const isAlive = 'account_id <> all(array(select id from accounts where deleted_at is not null))'

const oldest = `
  select ${columns} from journey_runs
  where ${open} and ${due} <= $1 and ${isAlive} and id not in (select unnest($2::text[])) order by ${due} limit $3`

// `turn` reads one index entry for each account with open runs. Of those with something due each gives its oldest, and they
// take turns: twice its even share, so that few rows are read in vain and few who have little leave room unfilled.
const fair = `
  with recursive turn as (
    (select account_id, ${dueByAccount} as due from journey_runs where ${open} order by account_id, ${dueByAccount} limit 1)
    union all
    select n.account_id, n.due from turn t cross join lateral (
      select r.account_id, ${dueByAccount} as due from journey_runs r
      where ${open} and r.account_id > t.account_id order by r.account_id, ${dueByAccount} limit 1
    ) n
  ), waiting as materialized (
    select account_id, ceil(2.0 * $3::int / count(*) over ()) as share from turn where due <= $1 and ${isAlive}
  )
  select d."accountId", d.id, d."journeyId", d.place from waiting w cross join lateral (
    select ${columns}, row_number() over (order by ${dueByAccount}) as nth from journey_runs
    where account_id = w.account_id and ${open} and ${dueByAccount} <= $1 and id not in (select unnest($2::text[]))
    order by ${dueByAccount} limit least(w.share, coalesce(($4::jsonb ->> w.account_id)::int, $5::int))
  ) d order by d.nth limit $3`

/**
 * Whether anything is due, for a process that has nothing in hand: one statement, which reads one index entry. Ordered, so
 * that no statistics make a plan that reads the runs which wait.
 */
export const isAnythingDue = async (sql: Sql, now: Date): Promise<boolean> => {
  const [first] = await sql<{ isDue: boolean }>(
    `select ${due} <= $1 as "isDue" from journey_runs where ${open} order by ${due} limit 1`,
    [now],
  )
  return first?.isDue ?? false
}

/**
 * The runs that are due and have room, oldest first. Where there are more than fit, the accounts take turns: only then does
 * it cost anything to have many accounts. `isAll`: nothing more is due. `isLong`: it was not so the last time.
 */
export const findDue = (
  { transaction }: Database,
  now: Date,
  { total, accounts, accountDefault, except }: Rooms,
  isLong = false,
): Promise<{ runs: DueRun[]; isAll: boolean }> =>
  transaction(async (sql) => {
    await sql(`select ${rowByRow}, ${inOrder}`, [], 'walk-in-order')
    const first = isLong ? null : await sql<DueRun>(oldest, [now, except, total], 'oldest-due')
    const counts = Map.groupBy(first ?? [], ({ accountId }) => accountId)
    const isWithin = [...counts].every(([id, { length }]) => length <= (accounts.get(id) ?? accountDefault))
    if (first && first.length < total && isWithin) return { runs: first, isAll: true }
    const params = [now, except, total, JSON.stringify(Object.fromEntries(accounts)), accountDefault]
    const runs = await sql<DueRun>(fair, params, 'fair-due')
    // Only who looks for the oldest of all can say that there is no more.
    return { runs, isAll: false }
  })

/** A run as a unit of work finds it, with all that its next step takes. */
export interface OpenRun {
  id: string
  journeyId: string
  version: number
  listId: string
  rowId: string
  email: string
  status: 'running' | 'waiting'
  cursor: Cursor
  stepNo: number
  revision: number
  /** null at a `wait-for` that waits: what it waits for has happened. */
  awaited: string | null
  context: Record<string, unknown>
  depth: number
  rootId: string | null
  dueAt: Date
  enteredAt: Date
}

/** A unit of work that waits longer for a lock gives up, and goes on with others. */
const lockTimeout = '1s'

const taking = `
  with settings as materialized (select ${rowByRow}, set_config('lock_timeout', '${lockTimeout}', true))
  select i.id from settings, unnest($2::text[]) as i(id)
  where pg_try_advisory_xact_lock(${lockKey('run', '$1 || i.id')})`

// A statement later: what it sees was committed before the locks were free.
const reading = `
  select r.id, r.journey_id as "journeyId", r.version, r.list_id as "listId", r.row_id as "rowId", r.email, r.status,
    r.cursor, r.step_no as "stepNo", r.revision, r.awaited, r.context, r.depth, r.root_id as "rootId", r.due_at as "dueAt",
    r.entered_at as "enteredAt"
  from unnest($2::text[]) as i(id) cross join lateral (
    select * from journey_runs where account_id = $1 and id = i.id limit 1
  ) r where ${open} and ${due} <= $3`

/** Those of the runs that are still due and in no other unit of work, for this one to walk. */
export const takeRuns = async ({ sql, accountId, now }: Work, ids: readonly string[]): Promise<OpenRun[]> => {
  const taken = await sql<{ id: string }>(taking, [accountId, ids], 'take-runs')
  return sql<OpenRun>(reading, [accountId, taken.map(({ id }) => id), now], 'read-runs')
}
