import { beforeEach, expect, test } from 'vitest'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { queueMany, sendingAccount, startMail } from '../../support/messages.ts'
import { plainProjects } from '../../support/projects.ts'
import { useSink } from '../../support/smtp.ts'

const studio = plainProjects()
let account: TestAccount

const sink = useSink()
const t = useApp(() => ({
  env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' },
  projects: studio.projects,
}))
beforeEach(async () => {
  account = await sendingAccount(t)
  studio.add(account.id, 'prj_1', 'Welcome, {{ name }}')
  studio.renderings.length = 0
  sink.mails.length = 0
})

const send = (body: object) =>
  t.request('POST', '/send', { key: account.key, body: { to: 'ada@people.example', projectId: 'prj_1', ...body } })

test('a project is rendered for the recipient; the default subject is its name with merge tags filled', async () => {
  const { body } = await ok(send({ mergeData: { name: '<Ada>' } }))
  expect(body.status).toBe('sent')
  const [mail] = await sink.arrived(1)
  expect(mail!.header('subject')).toBe('Welcome, <Ada>')
  expect(mail!.raw).toContain('version 1 for <Ada>')
  expect(studio.renderings).toMatchObject([{ accountId: account.id, id: 'prj_1', links: { unsubscribe: null } }])
})

test('the subject of the call takes precedence; its tags are filled, unknown ones are empty, then it is cut', async () => {
  await ok(send({ subject: '{{name}}{{ nobody }}!', mergeData: { name: 'x'.repeat(300) } }))
  expect((await sink.arrived(1))[0]!.header('subject')).toBe('x'.repeat(200))
})

test('a fallback in the subject stands for a missing or empty value', async () => {
  await ok(
    send({
      subject: '{{ name | "there" }}, {{ nobody | "you" }}{{ empty | "!" }}',
      mergeData: { name: 'Ada', empty: '' },
    }),
  )
  expect((await sink.arrived(1))[0]!.header('subject')).toBe('Ada, you!')
})

test('merge data is flat: nested values are dropped, null becomes empty, other values become text', async () => {
  const mergeData = { name: 'Ada', none: null, yes: true, count: 2.5, list: [1], deep: { a: 1 } }
  expect((await send({ mergeData })).body.status).toBe('sent')
  expect(studio.renderings[0]!.mergeData).toEqual({ name: 'Ada', none: '', yes: 'true', count: '2.5' })
})

test('100 fields are accepted; 101, or merge data that is not an object, return 400', async () => {
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, 'x']))
  expect((await send({ mergeData: fields(100) })).body.status).toBe('sent')
  expect(await send({ mergeData: fields(101) })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining('mergeData') },
  })
  expect((await send({ mergeData: ['x'] })).status).toBe(400)
})

test('properties of the other shape are ignored, whatever they are', async () => {
  const sent = await Promise.all([
    send({ html: null, text: 5 }),
    send({ projectId: undefined, subject: 'Hi', html: '<p>Hi</p>', text: 'Hi', mergeData: ['x'] }),
  ])
  expect(sent).toMatchObject(Array(2).fill({ status: 200, body: { status: 'sent' } }))
})

test('merge data with a number that is infinite for JSON returns 400, and nothing is sent', async () => {
  const body = '{"to":"ada@people.example","projectId":"prj_1","mergeData":{"total":1e400}}'
  const reply = await t.request('POST', '/send', { key: account.key, body })
  expect([reply.status, reply.body.error]).toEqual([
    400,
    'mergeData.total must be a number between -1.7e308 and 1.7e308',
  ])
  expect(studio.renderings).toEqual([])
})

test('an unknown project and one of another account return 404; a projectId that is not a string returns 400', async () => {
  const missing = await send({ projectId: 'prj_none' })
  expect([missing.status, missing.body]).toEqual([404, { error: 'There is no such project' }])
  account = await sendingAccount(t)
  expect(await send({})).toMatchObject({ status: 404, body: missing.body })
  expect((await send({ projectId: 5 })).status).toBe(400)
})

test('with projectId the freeform properties are ignored', async () => {
  await ok(send({ html: '<p>other</p>', text: 'other' }))
  expect((await sink.arrived(1))[0]!.raw).not.toContain('other')
})

test('a marketing email contains the unsubscribe link of its header', async () => {
  await ok(send({ type: 'marketing' }))
  const [mail] = await sink.arrived(1)
  expect(mail!.header('list-unsubscribe')).toBe(`<${studio.renderings[0]!.links.unsubscribe}>`)
})

test('a queued message is sent in the version that it was queued with', async () => {
  const project = { projectId: 'prj_1', mergeData: { name: 'Ada' } }
  await queueMany(t.app, account.id, 1, { content: project, subject: undefined })
  studio.add(account.id, 'prj_1', 'Anew', 2)
  const loop = startMail(t.app)
  const [mail] = await sink.arrived(1)
  await loop.stop()
  expect(mail!.header('subject')).toBe('Welcome, Ada')
  expect(mail!.raw).toContain('version 1 for Ada')
})
