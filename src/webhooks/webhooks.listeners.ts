import { closeTargets, endTargets, insertEvents, joinTarget, pendingOf } from '../deliveries/deliveries.ts'
import { statement } from '../store/statement.ts'
import type { Listener } from '../store/work.ts'

// This file must not import entities: the CLI and the jobs load all listeners, also without MikroORM.

const activeOf = (accountId: string) =>
  `from webhooks w ${joinTarget('w')} where w.account_id = ${accountId} and t.status = 'active'`

const findOfKey = statement(
  'find-subscriptions-of-key',
  { row: { id: 'text' }, parameters: { accountId: 'text', keyId: 'text' } },
  'select id from webhooks where account_id = :accountId and api_key_id = :keyId',
)

const countOfKey = statement(
  'count-subscriptions-of-key',
  { row: { subscriptions: 'int8', deliveries: 'int8' }, parameters: { accountId: 'text', keyId: 'text' } },
  `select count(*) as subscriptions, coalesce(sum(${pendingOf('w')}), 0)::int8 as deliveries
   ${activeOf(':accountId')} and w.api_key_id = :keyId`,
)

/** Delivers events to the webhooks that subscribed to them (docs/reference/events.md#delivery). */
export const deliverEvents: Listener = {
  events: {
    // A webhook may end in the meantime: see the rule of the outbox in deliveries.insert.ts.
    receivers: `array(select w.id ${activeOf(':accountId')} and :type = any(w.events) order by w.id)`,
    async receive(work, events, ids) {
      await insertEvents(work, events, ids)
    },
  },

  async keyRevoked(work, keyId) {
    const webhooks = await work.sql(findOfKey, { accountId: work.accountId, keyId })
    await endTargets(
      work,
      webhooks.map((row) => row.id),
      'api-key-revoked',
    )
  },

  async keyEnds({ sql, accountId }, keyId) {
    const [ends] = await sql(countOfKey, { accountId, keyId })
    return ends!
  },

  // Disables the webhooks, so that no delivery is claimed. Pending deliveries are deleted with the account.
  accountClosed: closeTargets,
}
