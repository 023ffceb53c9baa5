import { countOwned } from '../../src/accounts/accounts.ts'
import type { TestApp } from '../support/app.ts'

/** Adds `count` finished deliveries to the account, each with its event. */
export const addDeliveries = async (t: TestApp, accountId: string, count: number): Promise<void> => {
  await t.app.sql(
    `insert into events (account_id, id, type, payload, created_at)
     select $1, 'evt_' || lpad(n::text, 26, '0'), 'contact.created', repeat('x', 600), now() from generate_series(1, $2::int) n`,
    [accountId, count],
  )
  await t.app.sql(
    `insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at, attempts)
     select $1, 'dlv_' || lpad(n::text, 26, '0'), 'whk_none', 'evt_' || lpad(n::text, 26, '0'), 'contact.created', 'delivered',
       now(), now(), jsonb_build_array(jsonb_build_object('at', 0, 'status', 200, 'durationMs', 10, 'snippet', ''))
     from generate_series(1, $2::int) n`,
    [accountId, count],
  )
}

/** The remaining rows of an account, including its own row and its rate windows. */
export const remains = async (t: TestApp, { id, keyId }: { id: string; keyId: string }) => ({
  owned: await countOwned(t.app, id),
  account: (await t.app.sql('select from accounts where id = $1', [id])).length,
  windows: (await t.app.sql('select from rate_windows where key_id = $1', [keyId])).length,
})
export const nothing = { owned: {}, account: 0, windows: 0 }
