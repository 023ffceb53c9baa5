import { newId } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'

/** A POST of an own body that somebody waits for: unsigned, its `key` the X-Service-Idempotency-Key. */
export interface Call {
  url: string
  key: string
  body: string
}

/** Inserts a delivery for each call, in the unit of work, to the owner's target for that URL. Gives their ids, in the order of the calls. */
export const insertCalls = async (
  { sql, accountId, now }: Work,
  owner: { kind: 'journey'; id: string },
  calls: readonly Call[],
): Promise<string[]> => {
  const ids = calls.map(() => newId('dlv', now.getTime()))
  const target = `whk_${owner.id}`
  await sql(
    `insert into webhooks (id, account_id, url, events, created_via, status, sealed_secret, created_at)
     values ($1, $2, $3, '{}', 'dashboard', 'active', '', $4) on conflict (id) do update set url = excluded.url`,
    [target, accountId, calls[0]!.url, now],
  )
  await sql(
    `with stored as (
       insert into events (account_id, id, type, payload, created_at)
       select $1, e.key, 'call', e.body, $3 from jsonb_to_recordset($4::jsonb) as e(key text, body text)
     )
     insert into deliveries (account_id, id, event_id, webhook_id, type, status, due_at, created_at)
     select $1, e.id, e.key, $2, 'call', 'pending', $3, $3 from jsonb_to_recordset($4::jsonb) as e(id text, key text)`,
    [accountId, target, now, JSON.stringify(calls.map((call, i) => ({ ...call, id: ids[i] })))],
  )
  await sql(`select pg_notify('svc_deliveries', '')`)
  return ids
}

/** Cancels what is still pending of these deliveries (a run that ended while it waited). */
export const cancelCalls = async ({ sql, accountId, now }: Work, deliveryIds: readonly string[]): Promise<void> => {
  await sql(
    `update deliveries set status = 'cancelled', claim = claim + 1, leased_until = null, finished_at = $3
     where account_id = $1 and id = any($2) and status = 'pending'`,
    [accountId, deliveryIds, now],
  )
}
