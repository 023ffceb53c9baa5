import { beforeAll, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { createBroadcast, NewBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { createCourse } from '../../src/courses/courses.ts'
import { createDeal, listPipelines } from '../../src/deals/deals.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { createSegment } from '../../src/segments/segments.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { createWebinar, NewWebinar } from '../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { plainProject, plainProjects } from '../support/projects.ts'
import { makeTopic } from '../support/topics.ts'

let owner: TestAccount
let stranger: TestAccount
let listId: string
let journeyId: string
let dealId: string
let webinarId: string
let courseId: string
let segmentId: string
let broadcastId: string
let sendId: string
let topicId: string
const studio = plainProjects()
const projectId = 'prj_01k0000000000000000000000a'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, projects: studio.projects })
beforeAll(async () => {
  owner = await sendingAccount(t)
  stranger = await sendingAccount(t)
  studio.add(owner.id, projectId, 'Mine')
  listId = (await t.app.work(owner.id, 'cli:test', (work) => createList(work, { name: 'Mine' }))).id
  dealId = await t.app.work(owner.id, 'cli:test', async (work) => {
    await writeContacts(work, listId, [{ email: 'owner@b.example', fields: {} }], new Map())
    return (await createDeal(work, { title: 'Mine', email: 'owner@b.example' }, { source: 'manual' })).deal.id
  })
  await t.app.work(stranger.id, 'cli:test', listPipelines)
  webinarId = (
    await t.app.work(owner.id, 'cli:test', (work) => createWebinar(work, NewWebinar.parse({ title: 'Mine' })))
  ).id
  const segment = { name: 'Mine', list: 'Mine', where: 'status = active' }
  segmentId = (await t.app.work(owner.id, 'cli:test', (work) => createSegment(work, segment))).id
  topicId = await makeTopic(t, owner, 'Mine')
  const file = plainProject('Broadcast')
  const [project] = await t.app.work(owner.id, 'cli:test', (work) => applyProjects(work, [file]))
  const draft = NewBroadcast.parse({ list: 'Mine', project: project!.id })
  broadcastId = (await t.app.work(owner.id, 'cli:test', (work) => createBroadcast(work, draft))).id
  const scheduledAt = t.app.now().getTime() + 3_600_000
  sendId = (await ok(t.request('POST', '/send', { key: owner.key, body: freeform({ scheduledAt }) }))).body.id
  const course = { title: 'Mine', published: true }
  courseId = (await t.app.work(owner.id, 'cli:test', (work) => createCourse(work, course))).id
  const journey = { name: 'Mine', trigger: { kind: 'api' }, steps: [{ kind: 'exit' }] }
  journeyId = (await t.app.work(owner.id, 'cli:test', (work) => applyJourneys(work, [journey])))[0]!.id!
})

/** Calls with ids of the owner's resources. A new route that takes an id must be added here. */
const named: Record<string, (id: string) => { path: string; body?: unknown; status?: 200 }> = {
  'GET /lists/:id/contacts': (id) => ({ path: `/lists/${id}/contacts` }),
  'DELETE /lists/:id/contacts/:email': (id) => ({ path: `/lists/${id}/contacts/owner@b.example` }),
  'GET /segments/:id': (id) => ({ path: `/segments/${id}` }),
  'PATCH /segments/:id': (id) => ({ path: `/segments/${id}`, body: { name: 'x' } }),
  'DELETE /segments/:id': (id) => ({ path: `/segments/${id}`, status: 200 }),
  'POST /segments': (id) => ({ path: '/segments', body: { name: 'x', listId: id, where: 'status = active' } }),
  'GET /broadcasts/:id': (id) => ({ path: `/broadcasts/${id}` }),
  'PATCH /broadcasts/:id': (id) => ({ path: `/broadcasts/${id}`, body: { name: 'x' } }),
  'DELETE /broadcasts/:id': (id) => ({ path: `/broadcasts/${id}`, status: 200 }),
  'POST /broadcasts': (id) => ({ path: '/broadcasts', body: { listId: id, projectId } }),
  'POST /broadcasts/:id/test': (id) => ({ path: `/broadcasts/${id}/test`, body: { to: 'a@b.example' } }),
  'POST /broadcasts/:id/send': (id) => ({ path: `/broadcasts/${id}/send` }),
  'POST /broadcasts/:id/cancel': (id) => ({ path: `/broadcasts/${id}/cancel` }),
  'POST /broadcasts/:id/pause': (id) => ({ path: `/broadcasts/${id}/pause` }),
  'POST /broadcasts/:id/resume': (id) => ({ path: `/broadcasts/${id}/resume` }),
  'GET /sends/:id': (id) => ({ path: `/sends/${id}` }),
  'DELETE /sends/:id': (id) => ({ path: `/sends/${id}` }),
  'PUT /suppressions/:email': (id) => ({
    path: '/suppressions/a@b.example',
    body: { reason: 'unsubscribed', topicId: id },
  }),
  'DELETE /suppressions/:email': (id) => ({ path: `/suppressions/a@b.example?topicId=${id}` }),
  'PUT /preferences/:email': (id) => ({ path: '/preferences/a@b.example', body: { topics: { [id]: false } } }),
  'GET /contacts': (id) => ({ path: `/contacts?email=a@b.example&listId=${id}` }),
  'POST /contacts': (id) => ({ path: '/contacts', body: { listId: id, email: 'a@b.example' } }),
  'POST /send': (id) => ({ path: '/send', body: { to: 'a@b.example', projectId: id } }),
  'POST /deals': (id) => ({ path: '/deals', body: { title: 'x', email: 'owner@b.example', listId: id } }),
  'PATCH /deals/:id': (id) => ({ path: `/deals/${id}`, body: { title: 'x' } }),
  'POST /journeys/:id/trigger': (id) => ({
    path: `/journeys/${id}/trigger`,
    body: { email: 'a@b.example', listId },
  }),
  'POST /events': (id) => ({ path: '/events', body: { name: 'x', email: 'owner@b.example', listId: id } }),
  'POST /webinars': (id) => ({ path: '/webinars', body: { title: 'x', courseId: id } }),
  'POST /webinars/:id/register': (id) => ({
    path: `/webinars/${id}/register`,
    body: { email: 'a@b.example', name: 'x' },
  }),
  'POST /courses/:id/enroll': (id) => ({ path: `/courses/${id}/enroll`, body: { email: 'a@b.example' } }),
  'POST /courses/:id/embed-token': (id) => ({ path: `/courses/${id}/embed-token`, body: { email: 'a@b.example' } }),
  'DELETE /webhooks/:id': (id) => ({ path: `/webhooks/${id}` }),
}
const takesNoId = [
  'POST /erasures',
  'GET /broadcasts',
  'GET /segments',
  'GET /suppressions',
  'GET /topics',
  'GET /preferences/:email',
  'GET /sends',
  'GET /webinars',
  'GET /lists',
  'GET /pipelines',
  'GET /journeys',
  'GET /webhooks',
  'POST /webhooks',
  'GET /events/sample',
]

const ownersId = async (name: string): Promise<string> => {
  if (name.includes('journeys')) return journeyId
  if (name.includes('/segments/:id')) return segmentId
  if (name.includes('/broadcasts/:id')) return broadcastId
  if (name.includes('/sends/:id')) return sendId
  if (/suppressions|preferences/.test(name)) return topicId
  if (name.includes('register')) return webinarId
  if (name.includes('send')) return projectId
  if (name.includes('courses') || name === 'POST /webinars') return courseId
  if (name.includes('deals/:id')) return dealId
  if (!name.includes('webhooks')) return listId
  const { body } = await ok(
    t.request('POST', '/webhooks', {
      key: owner.key,
      body: { url: 'https://example.com/hook', event: 'contact.created' },
    }),
  )
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
    'courses',
    'members',
    'enrolments',
    'messages',
    'broadcasts',
    'segments',
    'suppressions',
    'topics',
    'message_queue',
    'activities',
    'activity_keys',
    'quota_uses',
    'webinars',
    'webinar_registrations',
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
    expect(foreign.status).toBe(named[name]!(id).status ?? 404)
    // A message can repeat the caller's id.
    expect(JSON.stringify(foreign.body).replace(id, '…')).toBe(JSON.stringify(missing.body).replace(absent, '…'))
    expect(await dump()).toEqual(before)
  },
)

test.each(Object.keys(named))('%s: a too long id is treated as unknown', async (name) => {
  for (const length of [101, 201, 501, 5_000]) {
    const id = 'x'.repeat(length)
    const { path, body, status = 404 } = named[name]!(id)
    const method = name.split(' ')[0] as 'GET'
    const reply = await t.request(method, path, { key: owner.key, body })
    expect([length, reply.status]).toEqual([length, status])
    expect(JSON.stringify(reply.body)).not.toContain('x'.repeat(101))
    expect((await t.request(method, path, { key: 'none', body })).status).toBe(401)
  }
})

test('too long ids of a deal’s stage, pipeline and row are treated as unknown; a sender’s is 400', async () => {
  const id = 'x'.repeat(5_000)
  const deal = { title: 'x', email: 'owner@b.example' }
  for (const [method, path, body, status] of [
    ['POST', '/deals', { ...deal, stageId: id }, 404],
    ['POST', '/deals', { ...deal, pipelineId: id }, 404],
    ['POST', '/deals', { title: 'x', listId, rowId: id }, 404],
    ['PATCH', `/deals/${dealId}`, { stageId: id }, 400],
    ['POST', '/send', { to: 'a@b.example', subject: 'x', html: 'x', text: 'x', senderId: id }, 400],
    ['POST', `/journeys/${journeyId}/trigger`, { email: 'a@b.example', listId: id }, 404],
    ['POST', '/events', { name: 'x', email: 'a@b.example', listId: id }, 404],
    ['GET', `/liveview/${id}`, undefined, 404],
  ] as const) {
    const reply = await t.request(method, path, { key: owner.key, body })
    expect([path, body, reply.status]).toEqual([path, body, status])
    expect(reply.body.error.length).toBeLessThan(200)
  }
})
