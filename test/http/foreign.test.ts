import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { createDeal, listPipelines } from '../../src/deals/deals.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'
import { plainProjects } from '../support/projects.ts'

let t: TestApp
let owner: TestAccount
let stranger: TestAccount
let listId: string
let journeyId: string
let dealId: string
const studio = plainProjects()
const projectId = 'prj_01k0000000000000000000000a'

beforeAll(async () => {
  t = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, projects: studio.projects })
  owner = await sendingAccount(t)
  stranger = await sendingAccount(t)
  studio.add(owner.id, projectId, 'Mine')
  listId = (await t.app.work(owner.id, 'cli:test', (work) => createList(work, { name: 'Mine' }))).id
  dealId = await t.app.work(owner.id, 'cli:test', async (work) => {
    await writeContacts(work, listId, [{ email: 'owner@b.example', fields: {} }], new Map())
    return (await createDeal(work, { title: 'Mine', email: 'owner@b.example' }, { source: 'manual' })).deal.id
  })
  await t.app.work(stranger.id, 'cli:test', listPipelines)
  const journey = { name: 'Mine', trigger: { kind: 'api' }, steps: [{ kind: 'exit' }] }
  journeyId = (await t.app.work(owner.id, 'cli:test', (work) => applyJourneys(work, [journey])))[0]!.id!
})
afterAll(() => t.close())

/** How a call names something of the owner's: a new route that takes an id must be added here. */
const named: Record<string, (id: string) => { path: string; body?: unknown }> = {
  'GET /contacts': (id) => ({ path: `/contacts?email=a@b.example&listId=${id}` }),
  'POST /contacts': (id) => ({ path: '/contacts', body: { listId: id, email: 'a@b.example' } }),
  'POST /send': (id) => ({ path: '/send', body: { to: 'a@b.example', projectId: id } }),
  'POST /deals': (id) => ({ path: '/deals', body: { title: 'x', email: 'owner@b.example', listId: id } }),
  'PATCH /deals/:id': (id) => ({ path: `/deals/${id}`, body: { title: 'x' } }),
  'POST /journeys/:id/trigger': (id) => ({
    path: `/journeys/${id}/trigger`,
    body: { email: 'a@b.example', listId },
  }),
  'DELETE /webhooks/:id': (id) => ({ path: `/webhooks/${id}` }),
}
const takesNoId = [
  'GET /lists',
  'GET /pipelines',
  'GET /journeys',
  'GET /webhooks',
  'POST /webhooks',
  'GET /events/sample',
]

const ownersId = async (name: string): Promise<string> => {
  if (name.includes('journeys')) return journeyId
  if (name.includes('send')) return projectId
  if (name.includes('deals/:id')) return dealId
  if (!name.includes('webhooks')) return listId
  const { body } = await t.request('POST', '/webhooks', {
    key: owner.key,
    body: { url: 'https://example.com/hook', event: 'contact.created' },
  })
  return body.id
}

const dump = async () => {
  const tables = [
    'contact_lists',
    'contacts',
    'addresses',
    'pipelines',
    'deals',
    'deal_history',
    'journeys',
    'journey_runs',
    'webhooks',
    'delivery_targets',
    'deliveries',
    'messages',
    'message_queue',
    'quota_uses',
    'events',
  ]
  return Promise.all(tables.map((table) => t.app.sql(`select * from ${table} order by 1, 2`)))
}

test('every route that takes an id is in this sweep', async () => {
  // An open route takes a signed token: foreign ones are in test/engagement/liveview.test.ts.
  const routes = (await loadRoutes()).filter(({ isOpen }) => !isOpen).map((route) => `${route.method} ${route.path}`)
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
