import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestApp } from '../support/app.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import type { Sink } from '../support/smtp.ts'

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount
let mail: Arrived

beforeAll(async () => {
  engaged = await startEngaged()
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  account = await engagedAccount(t)
  mail = await sendProject(t, sink, account)
})
afterAll(() => engaged.close())

const liveView = async ({ token }: Arrived) => t.request('GET', `/liveview/${token}`)
const told = async (type: string) => (await t.events(account.id)).filter((event) => event.type === type)
const interactions = async () => (await told('interaction.received')).map(({ data }) => data)

test('GET liveview needs no key: project, theme, blocks, recipient and state, merge tags filled', async () => {
  const { status, body, headers } = await liveView(mail)
  expect(status).toBe(200)
  expect(headers['cache-control']).toBe('private, no-store')
  expect(Object.keys(body)).toEqual(['project', 'theme', 'blocks', 'recipient', 'state', 'createdAt'])
  expect(body.project).toEqual({ id: account.projectId, name: 'Welcome' })
  expect(body.recipient).toEqual({ id: mail.id, fields: { name: 'Ada' } })
  expect(body.state).toEqual({})
  expect(body.createdAt).toBeGreaterThan(1_700_000_000_000)
  expect(JSON.stringify(body.blocks)).toContain('Welcome aboard, Ada')
  expect(JSON.stringify(body.blocks)).not.toContain('{{')
  expect(body.theme.primary).toBe('#0f766e')
})

test.each([
  ['a changed one', (token: string) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
  [
    'one of another purpose',
    (token: string) => token.replace(/.*/, t.app.tokens.sign('open', ['acc_1', 'msg_1'], null)),
  ],
  ['one of an account that is not there', () => t.app.tokens.sign('liveview', ['acc_1', mail.id], null)],
  ['none at all', () => 'x'],
])('a token that is not ours gives 404, in JSON and as a page: %s', async (_, change) => {
  const token = change(mail.token)
  expect(await t.request('GET', `/liveview/${token}`)).toMatchObject({
    status: 404,
    body: { error: expect.any(String) },
  })
  const posted = await t.request('POST', `/liveview/${token}/interactions`, {
    body: { blockId: 'colour', value: 'Red' },
  })
  expect(posted.status).toBe(404)
  const page = await t.request('GET', `/v/${token}`)
  expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
  expect(await interactions()).toEqual([])
})

test('a vote is recorded and told once; the same one again is a duplicate; another one replaces it and is told again', async () => {
  expect(await answer(t, mail, 'colour', 'Red')).toMatchObject({ status: 200, body: { ok: true, duplicate: false } })
  expect((await answer(t, mail, 'colour', 'Red')).body).toEqual({ ok: true, duplicate: true })
  expect((await answer(t, mail, 'colour', 'Blue')).body).toEqual({ ok: true, duplicate: false })
  expect(await interactions()).toEqual([
    {
      interaction: {
        id: expect.stringMatching(/^int_/),
        kind: 'vote',
        blockId: 'colour',
        value: 'Red',
        at: expect.any(Number),
      },
      project: { id: account.projectId, name: 'Welcome' },
      recipient: { email: 'ada@people.example', rowId: null },
      source: { kind: 'send', id: mail.id },
    },
    expect.objectContaining({ interaction: expect.objectContaining({ value: 'Blue' }) }),
  ])
  expect((await liveView(mail)).body.state).toEqual({
    colour: { kind: 'vote', value: 'Blue', answeredAt: expect.any(Number) },
  })
})

test('a rating is a whole number up to its max; the first answer to a quiz stands', async () => {
  expect((await answer(t, mail, 'stars', 5)).body).toEqual({ ok: true, duplicate: false })
  expect((await answer(t, mail, 'knots', '3.6 km/h')).body).toEqual({ ok: true, duplicate: false })
  expect((await answer(t, mail, 'knots', '1.852 km/h')).body).toEqual({ ok: true, duplicate: true })
  expect((await interactions()).map(({ interaction }) => [interaction.kind, interaction.value])).toEqual([
    ['rating', 5],
    ['quiz', '3.6 km/h'],
  ])
})

test.each([
  ['colour', 'Green', 'value must be the text of one of the options'],
  ['colour', 0, 'value must be the text of one of the options'],
  ['colour', undefined, 'value is required'],
  ['stars', 6, 'value must be a whole number from 1 to 5'],
  ['stars', 0, 'value must be a whole number from 1 to 5'],
  ['stars', 2.5, 'value must be a whole number from 1 to 5'],
  ['stars', '5', 'value must be a whole number from 1 to 5'],
  ['about', 'text', 'value must be an object of texts'],
  ['about', { size: 'Just me' }, 'value.company is required'],
  ['about', { company: 'Acme', size: 'Huge' }, 'value.size must be one of its options'],
  ['about', { company: 7 }, 'value.company must be a text'],
  ['about', { company: 'Acme', other: 'x' }, 'value has no field other'],
])('a value that the block can not have gives 400 and changes nothing: %s %j', async (blockId, value, error) => {
  expect(await answer(t, mail, blockId, value)).toMatchObject({ status: 400, body: { error } })
  expect((await liveView(mail)).body.state).toEqual({})
  expect(await interactions()).toEqual([])
})

test.each(['nothing', 'hello', 'intro', 'start'])('a block that can not be answered gives 404: %s', async (blockId) => {
  expect((await answer(t, mail, blockId, 'x')).status).toBe(404)
})

test('a form fires form.submitted with the contact null for an address that is in no list; its first answer stands', async () => {
  const fields = { company: ' Acme ', size: '', wishes: 'more' }
  expect((await answer(t, mail, 'about', fields)).body).toEqual({ ok: true, duplicate: false })
  expect((await answer(t, mail, 'about', { company: 'Other' })).body).toEqual({ ok: true, duplicate: true })
  const submitted = await told('form.submitted')
  expect(submitted.map(({ data }) => data)).toEqual([
    {
      source: 'email-form',
      form: { id: 'about', name: 'Tell us about you' },
      fields: { company: 'Acme', wishes: 'more' },
      contact: null,
      submittedAt: expect.any(Number),
    },
  ])
  expect(await told('lead.new')).toEqual([])
  expect((await interactions())[0].interaction).toMatchObject({
    kind: 'form',
    value: { company: 'Acme', wishes: 'more' },
  })
})

test("a known contact's first form answer in a project fires lead.new, the next one in it does not", async () => {
  const { body } = await t.request('POST', '/contacts', {
    key: account.key,
    body: { listId: await newList(), email: 'ada@people.example' },
  })
  await answer(t, mail, 'about', { company: 'Acme' })
  const second = await sendProject(t, sink, account)
  await answer(t, second, 'about', { company: 'Acme' })
  expect((await told('form.submitted')).map(({ data }) => data.contact.rowId)).toEqual([
    body.contact.rowId,
    body.contact.rowId,
  ])
  expect((await told('lead.new')).map(({ data }) => data)).toEqual([
    { contact: body.contact, source: 'email-form', form: { id: 'about', name: 'Tell us about you' } },
  ])
  expect((await interactions())[0].recipient).toEqual({ email: 'ada@people.example', rowId: body.contact.rowId })
})

test('20 answers of one vote at once are one interaction', async () => {
  const replies = await Promise.all(Array.from({ length: 20 }, () => answer(t, mail, 'colour', 'White')))
  expect(replies.filter(({ body }) => body.duplicate === false)).toHaveLength(1)
  expect(await interactions()).toHaveLength(1)
})

test('the page answers without scripts: a link of the mail only marks its option, the button answers', async () => {
  const shown = await t.request('GET', `${mail.view}?block=colour&value=Blue` as '/')
  expect(shown.status).toBe(200)
  expect(shown.body).toContain('You chose <strong>Blue</strong>')
  expect(await interactions()).toEqual([])
  const post = (body: string) =>
    t.request('POST', mail.view as '/', { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
  const posted = await post('block=colour&value=Blue')
  expect([posted.status, posted.headers.location]).toEqual([303, `${mail.view}#colour`])
  expect((await interactions()).map(({ interaction }) => interaction.value)).toEqual(['Blue'])
  expect((await post('block=about&field.company=Acme&field.size=&field.wishes=')).status).toBe(303)
  const refused = await post('block=stars&value=9')
  expect(refused.status).toBe(400)
  expect(refused.body).toContain('value must be a whole number from 1 to 5')
  expect((await post('block=nothing&value=9')).status).toBe(404)
  expect(await told('form.submitted')).toHaveLength(1)
})

test('merge data is no markup on the page, and leads nowhere but to the web', async () => {
  const evil = await engagedAccount(t, {
    name: 'Hi {{ name }}',
    blocks: [
      { id: 'a', type: 'heading', props: { text: 'Hi {{ name }}' } },
      { id: 'b', type: 'button', props: { label: 'Go', url: '{{ url }}' } },
    ],
  })
  const mergeData = { name: '<script>alert(1)</script>', url: 'javascript:alert(1)' }
  const sent = await sendProject(t, sink, evil, { mergeData })
  const { body, headers } = await t.request('GET', sent.view as '/')
  expect(body).not.toContain('<script>alert')
  expect(body).not.toContain('javascript:')
  expect(String(headers['content-security-policy'])).not.toContain('unsafe-inline')
  expect((await liveView(sent)).body.blocks[1].props.url).toBe('')
})

test('a mail keeps the version that was sent, whatever becomes of its project', async () => {
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { deleteProject } = await import('../../src/studio/studio.ts')
    await deleteProject(work, account.projectId)
  })
  expect((await liveView(mail)).status).toBe(200)
  expect((await answer(t, mail, 'colour', 'Red')).body).toEqual({ ok: true, duplicate: false })
})

const newList = async (): Promise<string> => {
  const { createList } = await import('../../src/contacts/contacts.ts')
  return (await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People', fields: [] }))).id
}
