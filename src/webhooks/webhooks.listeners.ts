import type { Listener, Work } from '../store/work.ts'
import { cancelPendingOf, writeEvents } from './webhooks.outbox.ts'

// Entities are not imported here: the CLI and the jobs load their listeners before they know whether they need MikroORM.

const wantedTypes = new WeakMap<Work, Promise<ReadonlySet<string>>>()

const readWantedTypes = async ({ sql, accountId }: Work): Promise<ReadonlySet<string>> => {
  const rows = await sql<{ type: string }>(
    `select distinct unnest(events) as type from webhooks where account_id = $1 and status = 'active'`,
    [accountId],
    'wanted types',
  )
  return new Set(rows.map((row) => row.type))
}

/** Delivers events to the webhooks that subscribed to them (decisions.md, Webhooks and events). */
export const deliverEvents: Listener = {
  async wants(work, type) {
    const types = wantedTypes.get(work) ?? readWantedTypes(work)
    wantedTypes.set(work, types)
    return (await types).has(type)
  },

  async receive(work, events) {
    await writeEvents(work, events)
  },

  async keyRevoked(work, keyId) {
    const { sql, accountId } = work
    const made = await sql<{ id: string }>(
      'select id from webhooks where account_id = $1 and api_key_id = $2 order by id for update',
      [accountId, keyId],
    )
    if (made.length === 0) return
    const ids = made.map((row) => row.id)
    await sql(
      `update webhooks set status = 'disabled', disabled_reason = 'api-key-revoked'
       where account_id = $1 and id = any($2) and status = 'active'`,
      [accountId, ids],
    )
    await cancelPendingOf(work, ids)
  },

  // Nothing of a disabled webhook is claimed: what is pending goes with the account.
  async accountClosed({ sql, accountId }) {
    await sql('select from webhooks where account_id = $1 order by id for update', [accountId])
    await sql(`update webhooks set status = 'disabled' where account_id = $1 and status = 'active'`, [accountId])
  },
}
