import {
  closeTargets,
  endTargets,
  insertEvents,
  joinTarget,
  pendingOf,
  type Wanting,
} from '../deliveries/deliveries.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Listener, Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'
import { webhooks } from './webhooks.columns.ts'

// This file must not import entities: the CLI and the jobs load all listeners, also without MikroORM.

const activeOf = (accountId: string) =>
  `from webhooks w ${joinTarget('w')} where w.account_id = ${accountId} and t.status = 'active'`

const activeSubscriptions = preparedStatement(
  'active-subscriptions',
  { row: types(webhooks, 'id', 'events'), parameters: { accountId: 'text' } },
  `select w.id, w.events ${activeOf(':accountId')} order by w.id`,
)

/** Reads the active subscriptions, once per unit of work. `deliveries.insert.ts` skips those that end in the meantime. */
const readSubscriptions = ({ sql, accountId }: Work): Promise<Wanting[]> => sql(activeSubscriptions, { accountId })

const subscriptions = stateKey(readSubscriptions)

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
    wanted: `exists (select ${activeOf(':accountId')} and :type = any(w.events))`,
    async receive(work, events) {
      await insertEvents(work, events, await work.state(subscriptions))
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
