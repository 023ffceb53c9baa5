import { beforeEach, expect, test } from 'vitest'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import { ok, useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { eventually } from '../support/eventually.ts'
import { startMail } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { makeTopic } from '../support/topics.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_RATE_LIMIT: '0' } }))

let who: Audience
let stranger: Audience
let key: string
beforeEach(async () => {
  who = await audience(t, 3)
  stranger = await audience(t, 1)
  key = who.account.key
  sink.mails.length = 0
})

const post = (body: object) => t.request('POST', '/broadcasts', { key, body })
const draft = async (more: object = {}) =>
  (await ok(post({ listId: who.listId, projectId: who.projectId, ...more }))).body.broadcast
const act = (id: string, verb: 'send' | 'cancel' | 'pause' | 'resume') =>
  t.request('POST', `/broadcasts/${id}/${verb}`, { key })
const show = async (id: string) => (await ok(t.request('GET', `/broadcasts/${id}`, { key }))).body.broadcast
const later = () => t.app.now().getTime() + 3_600_000

test('a draft is created with what the call names, and sends nothing', async () => {
  const topicId = await makeTopic(t, who.account, 'News')
  const given = { name: 'October', subject: 'News', topicId, rate: 600, scheduledAt: later(), replyTo: 'a@b.example' }
  const { status, body } = await post({ listId: who.listId, projectId: who.projectId, ...given })
  expect(status).toBe(201)
  expect(body.broadcast).toMatchObject({ ...given, status: 'draft', listId: who.listId, recipients: 3, sent: 0 })
  const { stats, rates, average, ...shown } = await show(body.broadcast.id)
  expect(shown).toEqual(body.broadcast)
  expect([stats, rates, average]).toMatchObject([{ sent: 0, opened: 0 }, { opened: null }, null])
  expect(await t.app.sql('select from messages where account_id = $1', [who.account.id])).toEqual([])
})

test('broadcasts are listed in pages, newest first, of one account; a bad cursor is 400', async () => {
  const one = await draft({ name: ' One ' })
  expect(one.name).toBe('One')
  const two = await draft({ name: 'Two' })
  const theirs = { listId: stranger.listId, projectId: stranger.projectId }
  await ok(t.request('POST', '/broadcasts', { key: stranger.account.key, body: theirs }))
  const first = (await ok(t.request('GET', '/broadcasts?limit=1', { key }))).body
  const second = (await ok(t.request('GET', `/broadcasts?limit=1&cursor=${first.next}`, { key }))).body
  expect([first.broadcasts, second]).toEqual([[two], { broadcasts: [one], next: null }])
  expect((await t.request('GET', '/broadcasts?cursor=x', { key })).status).toBe(400)
})

test.each([
  ['no recipients', { listId: undefined }],
  ['no project', { projectId: undefined }],
  ['a past time', { scheduledAt: 1 }],
  ['a bad filter', { where: 'plan =' }],
  ['a blank name', { name: '  ' }],
  ['a rate of 0', { rate: 0 }],
  ['all and a list', { all: true }],
])('POST /broadcasts with %s is 400 and writes nothing', async (_, more) => {
  expect((await post({ listId: who.listId, projectId: who.projectId, ...more })).status).toBe(400)
  expect((await ok(t.request('GET', '/broadcasts', { key }))).body.broadcasts).toEqual([])
})

test('a refusal names properties of the body, not flags of the command', async () => {
  const errorOf = async (more: object) => (await post({ projectId: who.projectId, ...more })).body.error
  expect(await errorOf({ all: true, listId: who.listId })).toBe('all can not be combined with a list or a segment')
  expect(await errorOf({ all: true, where: 'plan = pro' })).toBe('where needs a list: a segment has its own filter')
  expect(await errorOf({ listId: who.listId, scheduledAt: 1 })).toBe('scheduledAt must be in the future')
})

test('an unknown list, segment, project or topic is 404', async () => {
  for (const more of [{ listId: 'lst_none' }, { projectId: 'prj_none' }, { topicId: 'top_none' }])
    expect((await post({ listId: who.listId, projectId: who.projectId, ...more })).status).toBe(404)
  expect((await post({ segmentId: 'seg_none', projectId: who.projectId })).status).toBe(404)
})

test('the name of a list, segment, project or topic is not an id: 404, and nothing is written', async () => {
  const topicId = await makeTopic(t, who.account, 'News')
  const segment = { name: 'First', listId: who.listId, where: 'email = c0@people.example' }
  const segmentId = (await ok(t.request('POST', '/segments', { key, body: segment }))).body.segment.id
  const [list, project] = ['People', 'Spring']
  const recipients = { listId: who.listId, projectId: who.projectId }
  const refused = [
    { ...recipients, listId: list },
    { projectId: who.projectId, listIds: [who.listId, list] },
    { projectId: who.projectId, segmentId: 'First' },
    { projectId: who.projectId, segmentIds: [segmentId, 'First'] },
    { ...recipients, excludeListIds: [list] },
    { ...recipients, excludeSegmentIds: ['First'] },
    { ...recipients, projectId: project },
    { ...recipients, topicId: 'News' },
  ]
  for (const body of refused) expect([body, (await post(body)).status]).toEqual([body, 404])
  expect((await ok(t.request('GET', '/broadcasts', { key }))).body.broadcasts).toEqual([])

  const before = await draft({ topicId, excludeSegmentIds: [segmentId] })
  const changes = [{ listId: list }, { excludeSegmentIds: ['First'] }, { projectId: project }, { topicId: 'News' }]
  for (const body of changes)
    expect([body, (await t.request('PATCH', `/broadcasts/${before.id}`, { key, body })).status]).toEqual([body, 404])
  expect((await ok(t.request('GET', '/broadcasts', { key }))).body.broadcasts).toEqual([before])
  // A mistake in the call is reported before what it names.
  expect((await post({ ...recipients, listId: list, scheduledAt: 1 })).status).toBe(400)
})

test('several lists, a segment and exclusions make one email for each address', async () => {
  const body = { name: 'First', listId: who.listId, where: 'email = c0@people.example' }
  const segmentId = (await ok(t.request('POST', '/segments', { key, body }))).body.segment.id
  const { recipients, excludeSegmentIds } = await draft({ listIds: [who.listId], excludeSegmentIds: [segmentId] })
  expect([recipients, excludeSegmentIds]).toEqual([2, [segmentId]])
  const everybody = { all: true, projectId: who.projectId }
  expect((await ok(post(everybody))).body.broadcast).toMatchObject({ listId: null, all: true, recipients: 3 })
})

test('a draft is changed, null takes the default again, and what is left out stays', async () => {
  const { id } = await draft({ subject: 'Old', rate: 10 })
  const patch = (body: object) => t.request('PATCH', `/broadcasts/${id}`, { key, body })
  expect((await ok(patch({ name: 'New', rate: null }))).body.broadcast).toMatchObject({
    ...{ id, name: 'New', rate: null, subject: 'Old', recipients: 3 },
  })
  expect((await ok(patch({ subject: null }))).body.broadcast.subject).toBe('Spring')
  expect((await patch({})).status).toBe(400)
  expect((await patch({ projectId: 'prj_none' })).status).toBe(404)
})

test('a broadcast is tested, sent, and its results are shown', async () => {
  const { id } = await draft({ subject: 'News' })
  const tried = (await ok(t.request('POST', `/broadcasts/${id}/test`, { key, body: { to: 'you@people.example' } })))
    .body
  expect(tried).toMatchObject({ status: 'sent', projectVersion: 1 })
  expect((await t.request('POST', `/broadcasts/${id}/test`, { key, body: { to: 'nobody' } })).status).toBe(400)
  expect((await ok(act(id, 'send'))).body.broadcast.status).toBe('scheduled')
  const mail = startMail(t.app)
  await eventually(async () => {
    await t.app.work(who.account.id, 'cli:test', (w) => advanceBroadcast(t.app, w, id))
    return (await show(id)).status === 'done'
  })
  await mail.stop()
  expect(await show(id)).toMatchObject({ sent: 3, stats: { sent: 3 } })
  expect(sink.mails.map((one) => one.header('subject')).sort()).toEqual(['News', 'News', 'News', '[Test] News'])
})

test('a sent broadcast is paused, resumed and cancelled; a draft and an ended one refuse what does not fit: 409', async () => {
  const { id } = await draft({ scheduledAt: later() })
  for (const verb of ['pause', 'resume'] as const) expect((await act(id, verb)).status).toBe(409)
  await ok(act(id, 'send'))
  expect((await ok(act(id, 'pause'))).body.broadcast.status).toBe('paused')
  expect((await ok(act(id, 'resume'))).body.broadcast.status).toBe('scheduled')
  expect((await act(id, 'send')).status).toBe(409)
  expect((await t.request('PATCH', `/broadcasts/${id}`, { key, body: { name: 'x' } })).status).toBe(409)
  expect((await t.request('DELETE', `/broadcasts/${id}`, { key })).status).toBe(409)
  expect((await ok(act(id, 'cancel'))).body.broadcast.status).toBe('cancelled')
  const other = await draft()
  await ok(act(other.id, 'send'))
  await t.app.sql(`update broadcasts set status = 'done', finished_at = now() where account_id = $1 and id = $2`, [
    ...[who.account.id, other.id],
  ])
  expect((await act(other.id, 'cancel')).status).toBe(409)
})

test('a draft is deleted once, and then unknown', async () => {
  const { id } = await draft({ name: 'Mine' })
  const remove = () => t.request('DELETE', `/broadcasts/${id}`, { key })
  expect((await ok(remove())).body).toEqual({ deleted: true })
  expect((await ok(remove())).body).toEqual({ deleted: false })
  const answers = [
    await t.request('GET', `/broadcasts/${id}`, { key }),
    await t.request('PATCH', `/broadcasts/${id}`, { key, body: { name: 'x' } }),
    await t.request('POST', `/broadcasts/${id}/test`, { key, body: { to: 'a@b.example' } }),
    ...(await Promise.all((['send', 'cancel', 'pause', 'resume'] as const).map((verb) => act(id, verb)))),
  ]
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
})

test('several subjects are variants, whose results are shown; more than four are 400', async () => {
  const subject = ['One', 'Two']
  const { id } = await draft({ subject, share: 20, winner: 'opened', after: '4h' })
  const none = { sent: 0, opened: 0, clicked: 0, answered: 0 }
  expect(await show(id)).toMatchObject({ variants: subject.map((line) => ({ subject: line, ...none })), winner: null })
  const five = ['1', '2', '3', '4', '5']
  expect(await post({ listId: who.listId, projectId: who.projectId, subject: five })).toMatchObject({
    ...{ status: 400, body: { error: 'subject must be given at most four times' } },
  })
  const contest = { listId: who.listId, projectId: who.projectId, subject, share: 20, winner: 'opened', after: '4x' }
  expect((await post(contest)).body.error).toBe('after must be a duration such as 4h')
})

test('a name is no id, also one that several broadcasts have', async () => {
  for (const _ of [1, 2]) {
    await draft({ name: 'Mine' })
    expect((await t.request('GET', '/broadcasts/Mine', { key })).status).toBe(404)
    expect(await t.request('DELETE', '/broadcasts/Mine', { key })).toMatchObject({
      status: 200,
      body: { deleted: false },
    })
  }
})
