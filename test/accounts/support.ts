import { countOwned } from '../../src/accounts/accounts.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { ok, type TestAccount, type TestApp } from '../support/app.ts'
import { subscribe } from '../support/deliveries.ts'

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

const journey = {
  name: 'Welcome',
  trigger: { kind: 'list-added', list: 'People' },
  steps: [
    { kind: 'delay', for: '1d' },
    { kind: 'update-field', field: 'a', value: 'b' },
  ],
}

/** Creates an account with rows in most tables. */
export const furnish = async (t: TestApp): Promise<TestAccount & { listId: string }> => {
  await t.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('gone.example', 'mx', now() + interval '1 day')
     on conflict do nothing`,
  )
  const account = await t.account()
  await subscribe(t.app, account.id, 'https://example.com/hook')
  const listId = await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await applyJourneys(work, [journey])
    const writes = Array.from({ length: 20 }, (_, i) => ({ email: `p${i}@gone.example`, fields: { n: `${i}` } }))
    await writeContacts(work, id, writes, new Map())
    await createDeal(work, NewDeal.parse({ title: 'T', email: 'p1@gone.example' }), { source: 'api' })
    return id
  })
  await ok(t.request('GET', '/contacts?email=p1@gone.example', { key: account.key }))
  const event = { name: 'plan.upgraded', email: 'p1@gone.example' }
  await ok(t.request('POST', '/events', { key: account.key, body: event, headers: { 'idempotency-key': 'event-1' } }))
  return { ...account, listId }
}
