import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'
import { eraseEvents, eventsNaming } from './deliveries.erase.ts'
import { announceTargetsChanged, deliveriesChannel } from './deliveries.notices.ts'

/** Erases events that contain an erased address, and cancels their deliveries. */
export const forgetNamed: Listener = {
  async contactsRemoved(work, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    await eraseEvents(
      work,
      (await eventsNaming(work, email)).map(({ id }) => id),
    )
  },
}

const restTargets = statement(
  'rest-targets',
  { row: { id: 'text' }, parameters: { accountId: 'text' } },
  'update delivery_targets set next_due_at = null, version = version + 1 where account_id = :accountId returning id',
)

const wakeTargets = statement(
  'wake-targets',
  { parameters: { accountId: 'text' } },
  `update delivery_targets t set quiet_until = null, version = t.version + 1, next_due_at = (
     select p.due_at from pending_deliveries p where p.target_id = t.id and p.account_id = :accountId and p.worker is null
     order by p.due_at limit 1
   ) where t.account_id = :accountId and t.status = 'active'`,
)

/** When an account leaves, the jobs return the claims that wait for its targets. When it arrives, they look for its due deliveries. */
export const moveDeliveries: Listener = {
  async accountLeaves(work) {
    const targets = await work.sql(restTargets, { accountId: work.accountId })
    announceTargetsChanged(
      work,
      targets.map(({ id }) => id),
    )
  },

  async accountArrived(work) {
    await work.sql(wakeTargets, { accountId: work.accountId })
    work.announce(deliveriesChannel)
  },
}
