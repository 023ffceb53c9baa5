import { beforeEach, expect, test } from 'vitest'
import { ok } from '../support/app.ts'
import { answer, type EngagedAccount, engagedAccount, person, sendProject, useEngaged } from '../support/engagement.ts'
import { freeform } from '../support/messages.ts'

const engaged = useEngaged({ env: { SVC_RATE_LIMIT: '0' } })
let t: typeof engaged.t
let account: EngagedAccount
let key: string
beforeEach(async () => {
  t = engaged.t
  account = await engagedAccount(t)
  key = account.key
})

const send = async (more: object = {}) =>
  (await ok(t.request('POST', '/send', { key, body: freeform({ to: 'eve@people.example', ...more }) }))).body.id
const list = async (query = '') => (await ok(t.request('GET', `/sends?${query}`, { key }))).body
const show = async (id: string) => (await ok(t.request('GET', `/sends/${id}`, { key }))).body.send
const later = () => t.app.now().getTime() + 3_600_000

test('sends are pages, newest first, of one account, narrowed by address and status', async () => {
  const other = await engagedAccount(t)
  await ok(t.request('POST', '/send', { key: other.key, body: freeform() }))
  const first = await send()
  const second = await send({ to: 'bob@people.example' })
  const third = await send({ scheduledAt: later() })
  const all = await list()
  expect([all.sends.map(({ id }) => id), all.next]).toEqual([[third, second, first], null])
  expect((await list('email=Bob@people.example')).sends.map(({ id }) => id)).toEqual([second])
  expect((await list('status=pending')).sends.map(({ id }) => id)).toEqual([third])
  const page = await list('limit=2')
  // A page stays right while new emails arrive.
  await send()
  expect((await list(`limit=2&cursor=${page.next}`)).sends.map(({ id }) => id)).toEqual([first])
})

test('a page of a status reads 10,000 emails at most: it may be empty although another one follows', async () => {
  const id = await send()
  await t.app.sql(
    `insert into messages (account_id, id, source_kind, type, email, subject, merge_data, status, created_at, finished_at)
     select $1, 'msg_z' || lpad(n::text, 25, '0'), 'send', 'marketing', 'c' || n || '@people.example', 'S', '{}', 'failed', svc_now(), svc_now()
     from generate_series(1, 10001) n`,
    [account.id],
  )
  const first = await list('status=sent')
  expect([first.sends, typeof first.next]).toEqual([[], 'string'])
  const second = await list(`status=sent&cursor=${first.next}`)
  expect([second.sends.map((one) => one.id), second.next]).toEqual([[id], null])
  expect((await list('status=sent&email=eve@people.example')).sends.map((one) => one.id)).toEqual([id])
  expect((await list('status=failed&limit=2')).sends).toHaveLength(2)
})

test('a send has exactly the properties of the contract', async () => {
  const id = await send({ subject: 'Hello' })
  const sent = await show(id)
  expect(sent).toEqual({
    ...{ id, to: 'eve@people.example', subject: 'Hello', type: 'transactional', status: 'sent', error: null },
    ...{ createdAt: expect.any(Number), sentAt: expect.any(Number), scheduledAt: null },
    ...{ opened: false, clicked: false, bounced: false },
  })
  expect((await list()).sends).toEqual([sent])
})

test('opens, clicks and bounces of the recipient are shown, not those of others', async () => {
  const mail = await sendProject(t, engaged.sink, account)
  const untouched = await sendProject(t, engaged.sink, account)
  const seen = async (id: string) => {
    const { opened, clicked, bounced } = await show(id)
    return { opened, clicked, bounced }
  }
  await ok(answer(t, mail, 'stars', 5))
  expect(await seen(mail.id)).toEqual({ opened: true, clicked: false, bounced: false })
  expect((await t.request('GET', mail.clicks[0]!, { headers: person })).status).toBe(302)
  await t.app.sql(
    `insert into message_reports (account_id, message_id, fingerprint, kind, created_at) values ($1, $2, 'x', 'hard', now())`,
    [account.id, mail.id],
  )
  expect(await seen(mail.id)).toEqual({ opened: true, clicked: true, bounced: true })
  expect(await seen(untouched.id)).toEqual({ opened: false, clicked: false, bounced: false })
})

test('a scheduled send is cancelled once, and not sent', async () => {
  const id = await send({ scheduledAt: later() })
  const cancel = async () => (await ok(t.request('DELETE', `/sends/${id}`, { key }))).body
  expect([await cancel(), await cancel()]).toEqual([{ cancelled: true }, { cancelled: false }])
  expect(await show(id)).toMatchObject({ status: 'failed', error: 'cancelled', sentAt: null })
})

test('of concurrent cancellations of a send, one has cancelled it', async () => {
  const id = await send({ scheduledAt: later() })
  const answers = await Promise.all([1, 2, 3, 4].map(() => ok(t.request('DELETE', `/sends/${id}`, { key }))))
  expect(answers.map(({ body }) => body.cancelled).toSorted()).toEqual([false, false, false, true])
})

test('a send that was sent can’t be cancelled: 409', async () => {
  const id = await send()
  expect((await t.request('DELETE', `/sends/${id}`, { key })).status).toBe(409)
})

test('an unknown send is 404', async () => {
  expect((await t.request('GET', '/sends/msg_none', { key })).status).toBe(404)
  expect((await t.request('DELETE', '/sends/msg_none', { key })).status).toBe(404)
})

test.each(['limit=0', 'cursor=x', 'status=unknown', 'email=nobody'])('GET /sends?%s is 400', async (query) => {
  expect((await t.request('GET', `/sends?${query}`, { key })).status).toBe(400)
})
