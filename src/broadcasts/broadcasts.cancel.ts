import { conflict } from '../lib/problem.ts'
import { dropBatch } from '../messages/messages.ts'
import type { Work } from '../store/work.ts'
import { type BroadcastView, showBroadcast } from './broadcasts.find.ts'

/**
 * Cancels a broadcast: from the commit on nothing of it is handed over but what the relay may have already. Its mails that
 * have not left end as failed in the steps that follow (`advanceBroadcast`), and their volume is given back. A second time
 * it changes nothing. Throws Problem `missing`, `conflict` where it is done.
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
