import { idAt } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import { branchesOf, type DeliveryFilter, type DeliveryView, listDeliveries, matching } from './deliveries.find.ts'

/** Maximum number of deliveries that are watched: the newest ones. An older pending one is watched when enough others have ended. */
const maxWatched = 5000
/** A delivery may become visible this long after the time in its id, if its transaction was long. */
const lateMs = 60_000

interface Seen {
  id: string
  status: string
  attempts: number
}

const stateOf = ({ status, attempts }: Pick<Seen, 'status' | 'attempts'>) => `${status} ${attempts}`

/** Returns the deliveries that may change, newest first: all pending ones, and recent ones that have ended. */
const readStates = async ({ sql, accountId, now }: Work, filter: DeliveryFilter): Promise<Seen[]> => {
  const { conditions, params, bind } = matching(accountId, filter)
  const limit = bind(maxWatched)
  const recent = `d.id >= ${bind(idAt('dlv', now.getTime() - lateMs))}`
  const branches = [
    ...branchesOf({ ...filter, status: 'pending' }, conditions),
    ...branchesOf({ ...filter, status: undefined }, [...conditions, recent]).slice(1),
  ].map(
    (branch) =>
      `(select d.id, d.status, jsonb_array_length(d.attempts) as attempts from (${branch}) d order by d.id desc limit ${limit})`,
  )
  return sql<Seen>(`select * from (${branches.join(' union all ')}) d order by id desc`, params)
}

/**
 * Returns a function whose calls each return the deliveries that were created, attempted, replayed or ended since the previous call,
 * oldest first. The first call returns those created since `sinceMs` (epoch ms). The filter's status is the current one.
 */
export const deliveryChanges = (
  { status, ...filter }: DeliveryFilter,
  sinceMs: number,
): ((work: Work) => Promise<DeliveryView[]>) => {
  let known: Map<string, string> | undefined
  /** The id of the oldest watched pending delivery, or empty if all are watched. An older one is not new when it is first seen. */
  let oldestWatched = ''
  return async (work) => {
    const states = await readStates(work, filter)
    const before = known
    known = new Map(states.map((seen) => [seen.id, stateOf(seen)]))
    const isNew = ({ id }: Seen) => id >= (before ? oldestWatched : idAt('dlv', sinceMs))
    const ids = states.filter((seen) => before?.get(seen.id) !== stateOf(seen) && isNew(seen)).map(({ id }) => id)
    // A delivery that is no longer among the pending ones has ended, or is too old to be watched.
    for (const [id, state] of before ?? []) if (state.startsWith('pending') && !known.has(id)) ids.push(id)
    const waiting = states.filter((seen) => seen.status === 'pending')
    oldestWatched = waiting.length < maxWatched ? '' : waiting.at(-1)!.id
    if (ids.length === 0) return []
    const { rows } = await listDeliveries(work, { ...filter, ids, ...(status && { status }) }, { limit: ids.length })
    const changed = rows.filter((view) => before?.get(view.id) !== stateOf(view))
    for (const view of changed) known.set(view.id, stateOf(view))
    return changed.reverse()
  }
}
