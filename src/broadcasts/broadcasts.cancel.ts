import { conflict } from '../lib/problem.ts'
import { dropBatch } from '../messages/messages.ts'
import type { Work } from '../store/work.ts'
import { type BroadcastView, showBroadcast } from './broadcasts.find.ts'

/**
 * Cancels a broadcast. After the commit no message of it is sent, except those that a connection has taken. The following steps
 * (`advanceBroadcast`) end its unsent messages as failed, and return their quota. Cancelling again changes nothing. Throws Problem `not_found`, `conflict` where it is done.
 */
export const cancelBroadcast = async (work: Work, id: string): Promise<BroadcastView> => {
  const { sql, accountId, now } = work
  const [row] = await sql<{ status: string; hasBegun: boolean }>(
    `select status, started_at is not null as "hasBegun" from broadcasts where account_id = $1 and id = $2
     for no key update`,
    [accountId, id],
  )
  const view = await showBroadcast(work, id)
  if (row!.status === 'done') throw conflict(`The broadcast ${id} is done`)
  if (row!.status === 'cancelled') return view
  if (row!.hasBegun) await dropBatch(work, id)
  await sql(
    `update broadcasts set status = 'cancelled', checkpoint = '', finished_at = $3 where account_id = $1 and id = $2`,
    [accountId, id, row!.hasBegun ? null : now],
  )
  await sql(`select pg_notify('svc_broadcasts', '')`)
  return showBroadcast(work, id)
}
