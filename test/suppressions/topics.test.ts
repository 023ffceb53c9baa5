import { beforeEach, describe, expect, test } from 'vitest'
import { personalData } from '../../src/app/personal-data.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { deleteTopic, purgeTopics, updateTopic } from '../../src/suppressions/topics.change.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { makeTopic, preferencePath } from '../support/topics.ts'

const ada = 'ada@people.example'

let account: TestAccount
let news: string
let courses: string

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  news = await makeTopic(t, account, 'News', 'Once a month')
  courses = await makeTopic(t, account, 'New <b>courses</b>')
  sink.mails.length = 0
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2], of = account) => t.app.work(of.id, 'cli:test', run)
const call = (more: object = {}, headers: Record<string, string> = {}) =>
  t.request('POST', '/send', { key: account.key, body: freeform(more), headers })
const send = async (more: object = {}) => (await call(more)).body
const marketing = (topicId?: string, more: object = {}) => send({ type: 'marketing', topicId, ...more })
/** Sends Ada an email of a topic and returns the path of its link. */
const linkOf = async (topicId?: string) => {
  expect(await marketing(topicId)).toMatchObject({ status: 'sent' })
  return preferencePath(sink.mails.at(-1)!)
}
const post = (path: string, form: Record<string, string>) =>
  t.request('POST', path, {
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const oneClick = (path: string) => post(path, { 'List-Unsubscribe': 'One-Click' })
const save = (path: string, ...chosen: string[]) =>
  post(path, {
    action: 'save',
    topics: [news, courses].join(','),
    ...Object.fromEntries(chosen.map((id) => [id, 'yes'])),
  })
/** What is suppressed: the reason, or the topic that an address left. */
const suppressions = async (of = account) =>
  (
    await t.app.sql<{ what: string }>(
      `select coalesce(nullif(topic_id, ''), reason) as what from suppressions where account_id = $1 order by what`,
      [of.id],
    )
  ).map(({ what }) => what)

describe('the one click of a mail client', () => {
  test('leaves the topic of the message: no more email of it, and all other email', async () => {
    const path = await linkOf(news)
    expect((await oneClick(path)).status).toBe(200)
    expect(await suppressions()).toEqual([news])
    expect(await marketing(news)).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
    expect(await marketing(courses)).toMatchObject({ status: 'sent' })
    expect(await marketing()).toMatchObject({ status: 'sent' })
    expect(await send()).toMatchObject({ status: 'sent' })
    expect(await marketing(news, { to: 'bob@people.example' })).toMatchObject({ status: 'sent' })
  })

  test('leaves everything if the message has no topic, or the link names no message', async () => {
    const former = `/u/${t.app.tokens.sign('unsubscribe', [account.id, 'bob@people.example'], null)}`
    expect((await oneClick(await linkOf())).status).toBe(200)
    expect((await oneClick(former)).status).toBe(200)
    expect(await suppressions()).toEqual(['unsubscribed', 'unsubscribed'])
    expect(await marketing(news)).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
    expect(await send()).toMatchObject({ status: 'sent' })
  })

  test('leaves everything if the topic was deleted', async () => {
    const path = await linkOf(news)
    await work((w) => deleteTopic(w, news))
    expect((await oneClick(path)).status).toBe(200)
    expect(await suppressions()).toEqual(['unsubscribed'])
  })

  test('works without a body and as multipart, repeated, and whatever else the body says', async () => {
    const path = await linkOf(news)
    const multipart = {
      body: '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    }
    expect((await t.request('POST', path, multipart)).status).toBe(200)
    expect((await t.request('POST', path)).status).toBe(200)
    await ok(post(path, { 'List-Unsubscribe': 'One-Click', action: 'everything' }))
    expect(await suppressions()).toEqual([news])
  })

  test('a token of another account, with this message, changes nothing here', async () => {
    const path = await linkOf(news)
    const other = await t.account()
    const [, , message] = t.app.tokens.read('unsubscribe', path.slice('/u/'.length), 0)!
    const foreign = `/u/${t.app.tokens.sign('unsubscribe', [other.id, ada, message!], null)}`
    expect((await oneClick(foreign)).status).toBe(200)
    expect([await suppressions(), await suppressions(other)]).toEqual([[], ['unsubscribed']])
    expect((await oneClick(`${path}x`)).status).toBe(404)
    expect(await suppressions()).toEqual([])
  })
})

describe('the preference page', () => {
  test('lists the topics of the account only, escaped, and changes nothing when it is opened', async () => {
    await makeTopic(t, await t.account(), 'Of another account')
    const { status, body } = await t.request('GET', await linkOf(news))
    expect(status).toBe(200)
    expect(body).toContain('Once a month')
    expect(body).toContain('New &lt;b&gt;courses&lt;/b&gt;')
    expect(body).not.toContain('Of another account')
    expect(body).not.toMatch(/<script|src=|https?:/)
    expect(String(body).match(/ checked/g)).toHaveLength(2)
    expect(await suppressions()).toEqual([])
  })

  test('is the page with one button in an account without topics', async () => {
    for (const id of [news, courses]) await work((w) => deleteTopic(w, id))
    const path = await linkOf()
    const { body } = await ok(t.request('GET', path))
    expect(body).toContain('<form method="post"><button type="submit">Unsubscribe</button></form>')
    expect((await t.request('POST', path)).body).toContain('You are unsubscribed')
    expect(await suppressions()).toEqual(['unsubscribed'])
  })

  test('saves the boxes, both ways', async () => {
    const path = await linkOf(news)
    expect((await save(path, courses)).body).toContain('Your choices are saved')
    expect(await suppressions()).toEqual([news])
    expect(String((await t.request('GET', path)).body).match(/ checked/g)).toHaveLength(1)
    await ok(save(path, news))
    expect(await suppressions()).toEqual([courses])
    expect(await marketing(news)).toMatchObject({ status: 'sent' })
    await ok(save(path))
    expect(await suppressions()).toEqual([news, courses].sort())
    // Email without a topic has no box.
    expect(await marketing()).toMatchObject({ status: 'sent' })
  })

  test('leaves topics that it did not show as they are, and ignores ids that are no topics of the account', async () => {
    const other = await t.account()
    const foreign = await makeTopic(t, other, 'News')
    const path = await linkOf(news)
    const topics = [news, foreign, 'top_none', '', 'constructor', 'x\0y', `top_${'a'.repeat(5000)}`].join(',')
    expect((await post(path, { action: 'save', topics })).status).toBe(200)
    expect([await suppressions(), await suppressions(other)]).toEqual([[news], []])
    expect((await post(path, { action: 'save', [news]: 'yes' })).status).toBe(200)
    expect((await post(path, { action: 'destroy' })).status).toBe(200)
    expect(await suppressions()).toEqual([news])
  })

  test('refuses a form with thousands of fields, or a large one, and changes nothing', async () => {
    const path = await linkOf(news)
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`a${i}`, '']))
    expect((await post(path, { action: 'everything', ...many })).status).toBe(400)
    expect((await post(path, { action: 'everything', topics: 'x'.repeat(70_000) })).status).toBe(413)
    expect(await suppressions()).toEqual([])
    const ids = Array.from({ length: 5_000 }, (_, i) => `top_${i}`)
    expect((await post(path, { action: 'save', topics: [...ids, news].join(',') })).status).toBe(200)
    expect(await suppressions()).toEqual([news])
  })

  test('leaves everything with one button, and undoes it; the topics are left as before', async () => {
    const path = await linkOf(news)
    await ok(save(path, news))
    const left = await post(path, { action: 'everything' })
    expect(left.body).toContain('You are unsubscribed')
    expect(left.body).not.toContain('type="checkbox"')
    expect(await marketing(news)).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
    expect((await t.request('GET', path)).body).toContain('Subscribe again')
    // A page that was opened before must not bring it back by the way.
    expect((await save(path, news, courses)).body).toContain('You are unsubscribed')
    expect(await suppressions()).toEqual(['unsubscribed'])
    await ok(save(path, news))
    await ok(post(path, { action: 'return' }))
    expect(await suppressions()).toEqual([courses])
    expect(await marketing(news)).toMatchObject({ status: 'sent' })
  })

  test.each(['bounced', 'complained', 'manual'] as const)('does not remove the suppression %s', async (reason) => {
    const path = await linkOf(news)
    await work((w) => suppressAddresses(w, [ada], reason))
    await ok(post(path, { action: 'everything' }))
    await ok(post(path, { action: 'return' }))
    await ok(save(path, news, courses))
    expect(await suppressions()).toEqual([reason])
    expect(await send()).toMatchObject({ status: 'suppressed', reason })
  })

  test('two posts at once: the choices of one of them are saved as a whole', async () => {
    const path = await linkOf(news)
    for (let i = 0; i < 20; i++) {
      const replies = await Promise.all([save(path, news), save(path, courses)])
      expect(replies.map(({ status }) => status)).toEqual([200, 200])
      expect(await suppressions()).toHaveLength(1)
    }
    const clicks = await Promise.all([oneClick(path), oneClick(path), save(path), post(path, { action: 'everything' })])
    expect(clicks.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await suppressions()).toEqual([news, courses, 'unsubscribed'].sort())
  })
})

describe('topicId of POST /send', () => {
  test('an unknown topic, a deleted one and one of another account are 404, and nothing is stored', async () => {
    const foreign = await makeTopic(t, await t.account(), 'Foreign')
    await work((w) => deleteTopic(w, courses))
    for (const topicId of ['top_none', courses, foreign, 'News']) {
      const { status, body } = await call({ type: 'marketing', topicId })
      expect([topicId, status, body]).toEqual([topicId, 404, { error: 'There is no such topic' }])
    }
    expect(await t.app.sql('select from messages where account_id = $1', [account.id])).toEqual([])
  })

  test('with transactional email, and no text, are 400', async () => {
    for (const more of [{ topicId: news }, { type: 'transactional', topicId: news }]) {
      const { status, body } = await call(more)
      expect([status, body]).toEqual([400, { error: 'topicId is only for marketing email' }])
    }
    for (const topicId of [7, null, {}, 'a\0b']) expect((await call({ type: 'marketing', topicId })).status).toBe(400)
    expect(sink.mails).toEqual([])
  })

  test('a replay answers the first result, whatever topic it names', async () => {
    const key = { 'idempotency-key': 'k1' }
    const first = await call({ type: 'marketing', topicId: news }, key)
    const again = await call({ type: 'marketing', topicId: 'top_none' }, key)
    expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([200, first.body, 'true'])
    expect(sink.mails).toHaveLength(1)
  })
})

test('an erased person stays out of the topics that it left, and an export names them', async () => {
  await ok(oneClick(await linkOf(news)))
  const person = await work((w) => readPerson(t.app, w, ada))
  expect(person).toMatchObject({
    messages: [{ topicId: news }],
    suppressions: [{ reason: 'unsubscribed', topic: 'News' }],
  })
  await work((w) => eraseContact(w, ada, { dryRun: false, personalData }))
  expect(await suppressions()).toEqual([news])
  expect(await marketing(news)).toMatchObject({ status: 'suppressed' })
})

test('a topic that somebody left is kept when it is deleted: a later topic of the name has them again, no other one', async () => {
  const path = await linkOf(news)
  await ok(save(path))
  const left = await suppressions()
  expect(left).toEqual([news, courses].toSorted())
  expect(await work((w) => deleteTopic(w, 'News'))).toMatchObject({ id: news, left: 1 })
  const unused = await makeTopic(t, account, 'Unused')
  await work((w) => deleteTopic(w, unused))
  const rows = async () =>
    (await t.app.sql<{ id: string }>('select id from topics where account_id = $1 order by id', [account.id])).map(
      ({ id }) => id,
    )
  await purgeTopics(t.app, new Date(Date.now() - 60_000))
  expect(await rows()).toHaveLength(3)
  await purgeTopics(t.app, new Date(Date.now() + 60_000))
  expect(await rows()).toEqual([news, courses].toSorted())
  const other = await makeTopic(t, account, 'Other')
  expect(await marketing(other)).toMatchObject({ status: 'sent' })
  const again = await makeTopic(t, account, 'News')
  expect(again).not.toBe(news)
  expect(await suppressions()).toEqual([courses, again].toSorted())
  expect(await marketing(again)).toMatchObject({ status: 'suppressed' })
  await work((w) => deleteTopic(w, 'News'))
  // A rename is a later topic of the name, too.
  await work((w) => updateTopic(w, 'Other', { name: 'News' }))
  expect(await marketing(other)).toMatchObject({ status: 'suppressed' })
})
