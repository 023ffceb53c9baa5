import { hash } from 'node:crypto'
import { coalesceCalls } from '../lib/coalesce.ts'
import { Problem } from '../lib/problem.ts'
import { clientOf } from '../net/addresses.ts'
import { opaqueArray } from '../store/arrays.ts'
import { defineJob, inBatches } from '../store/background.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { isSharedFailure, type Sql } from '../store/database.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { type Quota, usedUpQuotas } from './accounts.quotas.ts'

const admissionTypes = {
  keyId: 'text',
  accountId: 'text',
  /** What the key may call. It is null if the key may call everything. */
  scopes: '_text?',
  /** Calls left in the window; -1 if this call exceeds the limit. */
  remaining: 'int4',
  /** Seconds until the window ends. */
  resetSeconds: 'int4',
  /** Whether the account is exported (accounts.move.ts). */
  move: 'text?',
  /** The quotas of which nothing is left, of those that the call needs. */
  usedUp: typed<Quota[]>('_text'),
} as const
type Admission = RowOf<typeof admissionTypes>

/** Returns the SHA-256 of the whole key in hex. Only this hash is stored, and keys are looked up by it. */
export const hashKey = (key: string): string => hash('sha256', key)

/**
 * Returns the `on conflict` clause that adds the inserted `used` calls to the current window, or starts a new window after 60 seconds.
 * `limit` is an SQL expression. The counter is capped at the limit first, so refused calls can't make it overflow.
 */
const countOn = (limit: string) => `
    on conflict (key_id, family) do update set
      used = case when w.started_at <= now() - interval '60 seconds' then excluded.used
        else least(w.used, ${limit}::int) + excluded.used end,
      started_at = case when w.started_at <= now() - interval '60 seconds' then now() else w.started_at end`

const secondsLeft = (startedAt: string) => `ceil(extract(epoch from ${startedAt} + interval '60 seconds' - now()))::int`

// One statement: key, limit, scopes and account cost one round trip, and a revoked key is refused at once because nothing is cached.
// The time is the database's, so all daemons share one window. Windows are locked in key order, so daemons that count the same
// keys can't deadlock.
const countCalls = preparedStatement(
  'admit',
  {
    row: { place: 'int4', ...admissionTypes },
    parameters: { hashes: '_text', families: '_text', calls: '_int4', limit: 'int4', quotas: '_text' },
  },
  `
  with asked as materialized (
    select * from unnest(${opaqueArray(':hashes')}, :families::text[], :calls::int[], :quotas::text[]) with ordinality
      as a(hash, family, calls, quotas, place)
  ), caller as materialized (
    select asked.*, k.id, k.account_id, k.scopes from asked join api_keys k on k.hash = asked.hash and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > (select svc_now()))
  ), counted as (
    insert into rate_windows as w (key_id, family, started_at, used)
    select id, family, now(), calls from caller where (select :limit::int) > 0 order by id, family ${countOn(':limit')}
    returning key_id, family, used, started_at
  )
  select caller.place::int, caller.id as "keyId", caller.account_id as "accountId", caller.scopes,
    coalesce(:limit::int - counted.used, 0) as remaining,
    coalesce(${secondsLeft('counted.started_at')}, 60) as "resetSeconds",
    (select move from accounts a where a.id = caller.account_id) as move,
    case when caller.quotas = '' then '{}' else
      ${usedUpQuotas('caller.account_id', `string_to_array(caller.quotas, ' ')`)} end as "usedUp"
  from caller left join counted on counted.key_id = caller.id and counted.family = caller.family`,
)

interface Asked {
  hash: string
  family: string
  quotas: string
}

const maxBatch = 256

/** Counts the calls that arrived during the previous statement: one row for each key and family; calls keep their order. */
const admitTogether = coalesceCalls(
  maxBatch,
  async ({ sql, limit }: { sql: Sql; limit: number }, calls: readonly Asked[]): Promise<(Admission | null)[]> => {
    const windows = new Map<string, Asked & { calls: number; place: number }>()
    const nth = calls.map(({ hash, family, quotas }) => {
      const window = windows.getOrInsertComputed(`${hash} ${family}`, () => ({
        hash,
        family,
        quotas,
        calls: 0,
        place: windows.size,
      }))
      return { window, n: ++window.calls }
    })
    const asked = [...windows.values()]
    const column = <Name extends keyof (typeof asked)[number]>(name: Name) => asked.map((window) => window[name])
    const values = {
      hashes: column('hash'),
      families: column('family'),
      calls: column('calls'),
      quotas: column('quotas'),
    }
    const admissions: (Admission | undefined)[] = []
    for (const { place, ...admitted } of await sql(countCalls, { ...values, limit })) admissions[place - 1] = admitted
    return nth.map(({ window, n }) => {
      const admitted = admissions[window.place]
      if (!admitted || limit === 0) return admitted ?? null
      return { ...admitted, remaining: Math.max(admitted.remaining + window.calls - n, -1) }
    })
  },
  { isShared: isSharedFailure },
)

/**
 * Finds the key and counts the call against its route family (docs/reference/limits.md#rate-limits), exactly and across daemons. Calls
 * that arrive while a statement is running share the next one. Returns null for an unknown, revoked or expired key, and counts nothing then.
 * `limit` is the number of calls a minute; if it is 0, nothing is counted. `quotas`, which each call of the family needs, are only read.
 */
export const admit = (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  key: string,
  family: string,
  limit: number,
  quotas: readonly Quota[] = [],
): Promise<Admission | null> =>
  admitTogether({ sql, limit }, database, String(limit), { hash: hashKey(key), family, quotas: quotas.join(' ') })

const countClientCall = preparedStatement(
  'admit-client',
  { row: { used: 'int4', resetSeconds: 'int4' }, parameters: { keyId: 'text', family: 'text', limit: 'int4' } },
  `insert into rate_windows as w (key_id, family, started_at, used) values (:keyId, :family, now(), 1) ${countOn(':limit')}
   returning used, ${secondsLeft('started_at')} as "resetSeconds"`,
)

/**
 * Counts a call without a key against the client's network address, as `admit` counts calls with a key: at most `limit` a minute, or
 * nothing if that is 0. Throws Problem `limited` if the call exceeds the limit.
 */
export const requireAdmission = async (sql: Sql, family: string, address: string, limit: number): Promise<void> => {
  if (limit === 0) return
  const [window] = await sql(countClientCall, { keyId: clientOf(address), family, limit })
  const { used, resetSeconds } = window!
  if (used > limit)
    throw new Problem('limited', 'Too many submissions in a minute', { retryAfterSeconds: Math.max(resetSeconds, 1) })
}

const countWrite = preparedStatement(
  'admit-write',
  { row: { isOver: 'bool', resetSeconds: 'int4' }, parameters: { keys: '_text', families: '_text', windows: '_int4' } },
  `with asked as materialized (
     select * from unnest(:keys::text[], :families::text[], :windows::int[]) as a(key, family, most)
   ), counted as (
     insert into rate_windows as w (key_id, family, started_at, used)
     select key, family, now(), 1 from asked order by key, family
     ${countOn('(select most from asked where asked.key = excluded.key_id and asked.family = excluded.family)')}
     returning key_id, family, used, started_at
   )
   select used > most as "isOver", ${secondsLeft('started_at')} as "resetSeconds"
   from counted join asked on asked.key = counted.key_id and asked.family = counted.family`,
)

/** Writes that one token authorises in a minute. */
const writesOfToken = 60

/**
 * Counts a write without a key against the client's network address and, if it has one, its token
 * (docs/reference/limits.md#rate-limits). `limit` is the number of writes of a client in a minute; if it is 0, nothing is counted, for
 * tokens neither. Throws Problem `limited` if the write exceeds a limit.
 */
export const requirePublicWrite = async (
  sql: Sql,
  { address, token, limit }: { address?: string | undefined; token?: string | undefined; limit: number },
): Promise<void> => {
  if (limit === 0) return
  const windows = [
    ...(address === undefined ? [] : [[clientOf(address), 'public', limit] as const]),
    // Stored as a hash: a token is a secret.
    ...(token === undefined ? [] : [[hashKey(token), 'token', writesOfToken] as const]),
  ]
  const counted = await sql(countWrite, {
    keys: windows.map(([key]) => key),
    families: windows.map(([, f]) => f),
    windows: windows.map((w) => w[2]),
  })
  const over = counted.filter(({ isOver }) => isOver).map(({ resetSeconds }) => resetSeconds)
  if (over.length > 0)
    throw new Problem('limited', 'Too many requests in a minute', { retryAfterSeconds: Math.max(...over, 1) })
}

// Locks in the same order as `countCalls`: calls that are being counted may hold locks on some of the windows.
const deleteKeyWindows = statement(
  'delete-rate-windows-of-account',
  { parameters: { accountId: 'text' } },
  `with theirs as materialized (
     select key_id, family from rate_windows where key_id in (select id from api_keys where account_id = :accountId)
     order by key_id, family for update
   )
   delete from rate_windows w using theirs where w.key_id = theirs.key_id and w.family = theirs.family`,
)

/** Deletes the rate-limit windows of an account's keys. */
export const deleteWindows = async ({ sql }: Pick<App, 'sql'>, accountId: string): Promise<void> => {
  await sql(deleteKeyWindows, { accountId })
}

// `skip locked`: a window that counts a call at this moment is still in use, so it stays.
const deleteOldWindows = statement(
  'delete-old-rate-windows',
  { row: { count: 'int8' }, parameters: { batchSize: 'int8' } },
  `with old as materialized (
    select ctid as row from rate_windows where started_at < now() - interval '1 hour' order by started_at limit :batchSize
    for update skip locked
   ), gone as (
     delete from rate_windows where ctid = any(array(select row from old)) returning 1
   )
   select count(*) from gone`,
)

/** Deletes rate-limit windows that started over an hour ago, in batches with pauses. Returns the number of deleted windows. */
export const purgeRateWindows = ({ sql }: Pick<App, 'sql'>, signal?: AbortSignal, batchSize = 1000): Promise<number> =>
  inBatches(batchSize, async () => (await sql(deleteOldWindows, { batchSize }))[0]!.count, signal)

export const jobs = [
  defineJob('rate windows', {
    does: 'Deletes windows of rate limits after an hour',
    runOnce: purgeRateWindows,
  }),
]
