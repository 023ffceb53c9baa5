import { createHash } from 'node:crypto'
import { coalesceCalls } from '../lib/coalesce.ts'
import { Problem } from '../lib/problem.ts'
import { clientOf } from '../net/addresses.ts'
import { isSharedFailure, type Sql } from '../store/database.ts'
import type { App } from '../store/work.ts'

export interface Admission {
  keyId: string
  accountId: string
  /** Calls left in the window; -1 where this one is over the limit. */
  remaining: number
  /** Seconds to the window's end. */
  resetSeconds: number
}

/** SHA-256 of the whole key in hex: what is stored, and what is looked up. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Counts `units` calls on in the running minute, or opens a new one; both are parameters. Over the limit the counter is parked. */
const countOn = (limit: string, units: string) => `
    on conflict (key_id, family) do update set
      used = case when w.started_at <= now() - interval '60 seconds' then ${units} else least(w.used + ${units}, ${limit}::int + ${units}) end,
      started_at = case when w.started_at <= now() - interval '60 seconds' then now() else w.started_at end`

const secondsLeft = (startedAt: string) => `ceil(extract(epoch from ${startedAt} + interval '60 seconds' - now()))::int`

// One statement, so that key, limit and account cost one round trip, and so that no cache can outlive a revocation.
// Time is the database's: the window is one for all daemons.
const admission = `
  with caller as (
    select id, account_id from api_keys where hash = $1 and revoked_at is null
  ), counted as (
    insert into rate_windows as w (key_id, family, started_at, used)
    select id, $2, now(), $4::int from caller where $3::int > 0 ${countOn('$3', '$4::int')} returning used, started_at
  )
  select caller.id as "keyId", caller.account_id as "accountId",
    coalesce($3::int - counted.used, 0) as remaining,
    coalesce(${secondsLeft('counted.started_at')}, 60) as "resetSeconds"
  from caller left join counted on true`

/** Counts, in their order, the calls of a key that arrived while earlier ones were counted. */
const admitTogether = coalesceCalls(
  Number.POSITIVE_INFINITY,
  async (
    { sql, hash, family, limit }: { sql: Sql; hash: string; family: string; limit: number },
    calls: readonly null[],
  ) => {
    const [row] = await sql<Admission>(admission, [hash, family, limit, calls.length], 'admit')
    return calls.map((_, i): Admission | null => {
      if (!row || limit === 0) return row ?? null
      return { ...row, remaining: Math.max(row.remaining + calls.length - 1 - i, -1) }
    })
  },
  { isShared: isSharedFailure },
)

/**
 * Finds the key and counts the call against its family (decisions.md, Rate limits), exactly and across daemons. Those of a key
 * that come at once share a statement, which begins after they came. null: no such key, or revoked; nothing is counted then.
 * `limit` 0 counts nothing.
 */
export const admit = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  key: string,
  family: string,
  limit: number,
): Promise<Admission | null> => {
  const hash = hashKey(key)
  return await admitTogether({ sql, hash, family, limit }, database, `${hash} ${family}`, null)
}

const countingClient = `
  insert into rate_windows as w (key_id, family, started_at, used) values ($1, $2, now(), 1) ${countOn('$3', '1')}
  returning used, ${secondsLeft('started_at')} as "resetSeconds"`

/**
 * Counts a call of who has no key, by the client that its address is of, as `admit` counts those of a key. Throws Problem `limited` past
 * `limit` a minute; 0 counts nothing.
 */
export const demandAdmission = async (sql: Sql, family: string, address: string, limit: number): Promise<void> => {
  if (limit === 0) return
  const [window] = await sql<{ used: number; resetSeconds: number }>(
    countingClient,
    [clientOf(address), family, limit],
    'admit-client',
  )
  const { used, resetSeconds } = window!
  if (used > limit)
    throw new Problem('limited', 'Too many submissions in a minute', { retryAfterSeconds: Math.max(resetSeconds, 1) })
}
