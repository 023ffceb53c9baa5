import { coalesceCalls } from '../lib/coalesce.ts'
import { opaqueArray } from '../store/arrays.ts'
import { isUnavailable } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

/*
 * The last use of each key, with the precision of a minute. A process writes it at most once a minute for each key, after the
 * answer, and keys that are used at the same time share a statement.
 */

const minuteMs = 60_000

// A row that another transaction has locked (a webhook is created with the key, or the key is revoked) is skipped: waiting for it
// while other rows are locked could deadlock.
const recordUse = preparedStatement(
  'record-use-of-keys',
  { row: { id: 'text' }, parameters: { keyIds: '_text', minute: 'timestamptz' } },
  `with used as materialized (
     select k.ctid as row from unnest(${opaqueArray(':keyIds')}) as u(id) join api_keys k on k.id = u.id
     where k.last_used_at is null or k.last_used_at < :minute for no key update of k skip locked
   )
   update api_keys set last_used_at = :minute where ctid = any(array(select row from used)) returning id`,
)

type Part = Pick<App, 'database' | 'sql' | 'now' | 'report'>

const record = coalesceCalls(
  1000,
  async ({ sql }: Part, calls: readonly { keyId: string; minute: number }[]): Promise<null[]> => {
    await sql(recordUse, { keyIds: calls.map(({ keyId }) => keyId), minute: new Date(calls[0]!.minute) })
    return calls.map(() => null)
  },
  { isShared: () => true },
)

/** The keys whose use in the current minute this process has recorded. */
interface Recorded {
  minute: number
  keys: Set<string>
}

const recorded = new WeakMap<object, Recorded>()

/** Records that a key was used now. Returns at once; a failure is only reported, and the next minute records the use again. */
export const noteUse = (app: Part, keyId: string): void => {
  const minute = Math.floor(app.now().getTime() / minuteMs) * minuteMs
  const known = recorded.getOrInsertComputed(app.database, () => ({ minute, keys: new Set() }))
  if (known.minute !== minute) {
    known.minute = minute
    known.keys.clear()
  }
  if (known.keys.has(keyId)) return
  known.keys.add(keyId)
  record(app, app.database, String(minute), { keyId, minute }).catch((error) => {
    if (!isUnavailable(error)) app.report(error, { key: keyId })
  })
}
