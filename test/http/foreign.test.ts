import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'

let t: TestApp
let owner: TestAccount
let stranger: TestAccount
let listId: string

beforeAll(async () => {
  t = await startApp()
  owner = await t.account()
  stranger = await t.account()
  listId = (await t.app.work(owner.id, 'cli:test', (work) => createList(work, { name: 'Mine' }))).id
})
afterAll(() => t.close())

/** How a call names something of the owner's: a new route that takes an id must be added here. */
const named: Record<string, (id: string) => { path: string; body?: unknown }> = {
  'GET /contacts': (id) => ({ path: `/contacts?email=a@b.example&listId=${id}` }),
  'POST /contacts': (id) => ({ path: '/contacts', body: { listId: id, email: 'a@b.example' } }),
  'DELETE /webhooks/:id': (id) => ({ path: `/webhooks/${id}` }),
}
const takesNoId = ['GET /lists', 'GET /webhooks', 'POST /webhooks', 'GET /events/sample']

const ownersId = async (name: string): Promise<string> => {
  if (!name.includes('webhooks')) return listId
  const { body } = await t.request('POST', '/webhooks', {
    key: owner.key,
    body: { url: 'https://example.com/hook', event: 'contact.created' },
  })
  return body.id
}

const dump = async () => {
  const tables = ['contact_lists', 'contacts', 'addresses', 'webhooks', 'deliveries', 'events']
  return Promise.all(tables.map((table) => t.app.sql(`select * from ${table} order by 1, 2`)))
}

test('every route that takes an id is in this sweep', async () => {
  const routes = (await loadRoutes()).map((route) => `${route.method} ${route.path}`)
  expect(routes.filter((route) => !named[route] && !takesNoId.includes(route))).toEqual([])
})

test.each(Object.keys(named))(
  '%s: an id of another account answers exactly as a missing one, and changes nothing',
  async (name) => {
    const id = await ownersId(name)
    const method = name.split(' ')[0] as 'GET'
    const call = (which: string) => {
      const { path, body } = named[name]!(which)
      return t.request(method, path, { key: stranger.key, body })
    }
    const before = await dump()
    const absent = `${id.slice(0, -4)}zzzz`
    const [foreign, missing] = [await call(id), await call(absent)]
    expect(foreign.status).toBe(404)
    // A sentence may repeat the id that the caller named.
    expect(JSON.stringify(foreign.body).replace(id, '…')).toBe(JSON.stringify(missing.body).replace(absent, '…'))
    expect(await dump()).toEqual(before)
  },
)
