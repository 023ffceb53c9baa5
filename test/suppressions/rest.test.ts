import { beforeEach, expect, test } from 'vitest'
import { suppressAndFlag } from '../../src/suppressions/suppressions.add.ts'
import { leaveTopics, suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { makeTopic } from '../support/topics.ts'

const ada = 'ada@people.example'
const grace = 'grace@people.example'

let account: TestAccount
let stranger: TestAccount
let key: string
let news: string
let courses: string

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_RATE_LIMIT: '0' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  stranger = await sendingAccount(t)
  key = account.key
  news = await makeTopic(t, account, 'News', 'Once a month')
  courses = await makeTopic(t, account, 'Courses')
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2], of = account) => t.app.work(of.id, 'cli:test', run)
const list = async (query = '') => (await ok(t.request('GET', `/suppressions?${query}`, { key }))).body
const status = async (type: string, topicId?: string) =>
  (await t.request('POST', '/send', { key, body: freeform({ to: ada, type, topicId }) })).body.status

test('suppressions are listed in pages by address, of one account, and filtered by address and reason', async () => {
  await work((w) => suppressAddresses(w, [ada, grace], 'unsubscribed'))
  await work((w) => suppressAddresses(w, [ada], 'bounced'))
  await work((w) => leaveTopics(w, [grace], [news]))
  await work((w) => suppressAddresses(w, ['eve@people.example'], 'manual'), stranger)
  const all = await list()
  expect(all.suppressions.map(({ email, reason, topicId, topic }) => [email, reason, topicId, topic])).toEqual([
    [ada, 'bounced', null, null],
    [ada, 'unsubscribed', null, null],
    [grace, 'unsubscribed', null, null],
    [grace, 'unsubscribed', news, 'News'],
  ])
  expect(all.next).toBeNull()
  expect((await list(`email=${ada.toUpperCase()}`)).suppressions).toHaveLength(2)
  expect((await list('reason=bounced')).suppressions).toHaveLength(1)
  const first = await list('limit=3')
  expect(first.suppressions).toEqual(all.suppressions.slice(0, 3))
  // A page stays right while rows before it change.
  await ok(t.request('DELETE', `/suppressions/${ada}`, { key }))
  expect(await list(`limit=3&cursor=${first.next}`)).toEqual({ suppressions: all.suppressions.slice(3), next: null })
})

test('a page of a reason reads 10,000 suppressions at most: it may be empty although another one follows', async () => {
  await work((w) => suppressAddresses(w, ['zoe@people.example'], 'manual'))
  await t.app.sql(
    `insert into suppressions (account_id, email, reason, topic_id, created_at)
     select $1, 'c' || lpad(n::text, 5, '0') || '@people.example', 'unsubscribed', case n % 2 when 0 then $2 else '' end, svc_now()
     from generate_series(1, 10001) n`,
    [account.id, news],
  )
  const first = await list('reason=manual')
  expect(first.suppressions).toEqual([])
  expect(await list(`reason=manual&cursor=${first.next}`)).toMatchObject({
    suppressions: [{ email: 'zoe@people.example' }],
    next: null,
  })
  const [last] = (await list(`limit=1&cursor=${first.next}`)).suppressions
  expect(last).toMatchObject({ email: 'c10001@people.example' })
  expect((await list('reason=unsubscribed&limit=2')).suppressions).toHaveLength(2)
})

test.each(['limit=0', 'limit=501', 'limit=x', 'limit=1.5', 'cursor=nonsense', 'email=nobody', 'reason=pending'])(
  'GET /suppressions?%s is 400',
  async (query) => {
    const { status, body } = await t.request('GET', `/suppressions?${query}`, { key })
    expect([status, typeof body.error]).toEqual([400, 'string'])
  },
)

test('an address is suppressed by PUT, with the same answer the second time, and no email leaves', async () => {
  const put = () => t.request('PUT', `/suppressions/${ada}`, { key, body: { reason: 'manual' } })
  const first = await ok(put())
  expect(first.body).toEqual({
    suppression: { email: ada, reason: 'manual', createdAt: expect.any(Number), topicId: null, topic: null },
  })
  expect((await ok(put())).body).toEqual(first.body)
  expect(await status('transactional')).toBe('suppressed')
})

test('with a topic only its marketing stops', async () => {
  const body = { reason: 'unsubscribed', topicId: news }
  const { suppression } = (await ok(t.request('PUT', `/suppressions/${ada}`, { key, body }))).body
  expect(suppression).toMatchObject({ email: ada, reason: 'unsubscribed', topicId: news, topic: 'News' })
  expect([await status('marketing', news), await status('marketing', courses)]).toEqual(['suppressed', 'sent'])
})

test.each([
  ['an unknown reason', ada, { reason: 'bounced' }],
  ['no reason', ada, {}],
  ['a topic with manual', ada, { reason: 'manual', topicId: 'top_1' }],
  ['a malformed address', 'nobody', { reason: 'manual' }],
])('PUT /suppressions with %s is 400 and writes nothing', async (_, email, body) => {
  expect((await t.request('PUT', `/suppressions/${email}`, { key, body })).status).toBe(400)
  expect((await list()).suppressions).toEqual([])
})

test('an unknown topic, and one of another account, is 404 in every route that names one, and changes nothing', async () => {
  const foreign = await makeTopic(t, stranger, 'Theirs')
  for (const topicId of ['top_none', foreign]) {
    const body = { reason: 'unsubscribed', topicId }
    const topics = { [topicId]: false, [news]: false }
    expect((await t.request('PUT', `/suppressions/${ada}`, { key, body })).status).toBe(404)
    expect((await t.request('DELETE', `/suppressions/${ada}?topicId=${topicId}`, { key })).status).toBe(404)
    expect((await t.request('PUT', `/preferences/${ada}`, { key, body: { topics } })).status).toBe(404)
  }
  expect((await list()).suppressions).toEqual([])
})

test('a suppression is deleted once, topics stay, and the address gets email again', async () => {
  await work((w) => suppressAndFlag(w, ada, 'bounced'))
  await work((w) => suppressAddresses(w, [ada], 'unsubscribed'))
  await work((w) => leaveTopics(w, [ada], [news]))
  const remove = async (query = '') => (await ok(t.request('DELETE', `/suppressions/${ada}${query}`, { key }))).body
  expect([await remove(), await remove()]).toEqual([{ deleted: true }, { deleted: false }])
  expect(await status('transactional')).toBe('sent')
  expect((await list()).suppressions.map(({ topicId }) => topicId)).toEqual([news])
  const topic = `?topicId=${news}`
  expect([await remove(topic), await remove(topic)]).toEqual([{ deleted: true }, { deleted: false }])
  expect((await list()).suppressions).toEqual([])
})

test('a complaint can’t be deleted: 409, and nothing changes', async () => {
  await work((w) => suppressAddresses(w, [ada], 'complained'))
  await work((w) => suppressAddresses(w, [ada], 'manual'))
  expect((await t.request('DELETE', `/suppressions/${ada}`, { key })).status).toBe(409)
  expect((await list()).suppressions.map(({ reason }) => reason)).toEqual(['complained', 'manual'])
  expect((await t.request('DELETE', '/suppressions/nobody', { key })).status).toBe(400)
})

test('topics are listed in pages, oldest first, and a bad cursor is 400', async () => {
  await makeTopic(t, stranger, 'Theirs')
  const { body } = await ok(t.request('GET', '/topics', { key }))
  expect(body).toEqual({
    topics: [
      { id: news, name: 'News', description: 'Once a month', createdAt: expect.any(Number) },
      { id: courses, name: 'Courses', description: '', createdAt: expect.any(Number) },
    ],
    next: null,
  })
  const first = (await ok(t.request('GET', '/topics?limit=1', { key }))).body
  const second = (await ok(t.request('GET', `/topics?limit=1&cursor=${first.next}`, { key }))).body
  expect([...first.topics, ...second.topics, second.next]).toEqual([...body.topics, null])
  expect((await t.request('GET', '/topics?cursor=x', { key })).status).toBe(400)
})

test('preferences show and change which topics an address gets; what a call leaves out stays', async () => {
  const path = `/preferences/${ada}` as const
  const read = async () => (await ok(t.request('GET', path, { key }))).body
  const save = async (body: object) => (await ok(t.request('PUT', path, { key, body }))).body
  expect(await read()).toEqual({ topics: { [news]: true, [courses]: true }, everything: true })
  const without = { topics: { [news]: false, [courses]: true }, everything: true }
  expect(await save({ topics: { [news]: false } })).toEqual(without)
  expect(await read()).toEqual(without)
  expect([await status('marketing', news), await status('marketing', courses)]).toEqual(['suppressed', 'sent'])
  expect(await save({ everything: false })).toEqual({ ...without, everything: false })
  expect(await status('marketing', courses)).toBe('suppressed')
  expect(await save({ topics: { [news]: true }, everything: true })).toEqual({
    topics: { [news]: true, [courses]: true },
    everything: true,
  })
  expect((await list()).suppressions).toEqual([])
})

test.each(['complained', 'bounced', 'manual'] as const)(
  'nobody gets everything while the address is suppressed as %s, which no preference takes back',
  async (reason) => {
    await work((w) => suppressAddresses(w, [ada], reason))
    const before = (await list()).suppressions
    const body = { everything: true, topics: { [news]: true } }
    const saved = (await ok(t.request('PUT', `/preferences/${ada}`, { key, body }))).body
    expect(saved).toEqual({ topics: { [news]: true, [courses]: true }, everything: false })
    expect((await ok(t.request('GET', `/preferences/${ada}`, { key }))).body).toEqual(saved)
    expect((await list()).suppressions).toEqual(before)
  },
)

test('a topic needs the reason unsubscribed', async () => {
  const body = { reason: 'manual', topicId: news }
  expect(await t.request('PUT', `/suppressions/${ada}`, { key, body })).toMatchObject({
    ...{ status: 400, body: { error: 'topicId needs the reason unsubscribed' } },
  })
})

test.each([
  ['GET', '/preferences/nobody', undefined],
  ['PUT', '/preferences/nobody', {}],
  ['PUT', `/preferences/${ada}`, { everything: 'no' }],
  ['PUT', `/preferences/${ada}`, { topics: { a: 1 } }],
] as const)('%s %s with %j is 400', async (method, path, body) => {
  expect((await t.request(method, path, { key, body })).status).toBe(400)
})
