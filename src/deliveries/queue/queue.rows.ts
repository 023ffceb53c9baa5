import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import type { QueueView } from '../../queue/loop.ts'

/**
 * Due deliveries, without those of inactive targets, which count as cancelled, and those of accounts that are being deleted or are
 * exported.
 */
export const deliveriesQueue: QueueView = {
  name: 'deliveries',
  due: `select p.due_at from clock, delivery_targets t
    join pending_deliveries p on p.target_id = t.id where t.status = 'active' and p.due_at <= clock.now
    and t.account_id <> all(array${closedAccountIds})`,
}
