import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { noteContention } from '../../src/contacts/write/contention.ts'
import { setScore } from '../../src/engagement/engagement.ts'
import { summarizeResponses } from '../../src/engagement/interactions/responses.ts'
import type { EventType } from '../../src/events/events.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { holdContactsTicket, untilLocked } from '../support/database.ts'
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
const told = <T extends EventType>(type: T) => t.events(account.id, type)
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
  expect(JSON.stringify(body.blocks)).toContain('Welcome aboard Ada')
  expect(JSON.stringify(body.blocks)).not.toContain('{{')
  expect(body.theme.primary).toBe('#1f4fbf')
})

test('the HTML of a block is sanitised in JSON and on the page, and its values are no markup', async () => {
  const html =
    '<p style="color:#c00;position:fixed" onclick="x">{{ name }}</p><script>alert(1)</script><a href="{{ url }}">a</a><img src="https://x.example/a.png" alt="A {{ name }}">'
  account = await engagedAccount(t, { name: 'Html', blocks: [{ id: 'h', type: 'html', props: { html } }] })
  mail = await sendProject(t, sink, account, { mergeData: { name: '<b>Ada</b>', url: 'javascript:alert(1)' } })
  const { body } = await liveView(mail)
  expect(body.blocks).toEqual([
    {
      id: 'h',
      type: 'html',
      props: {
        html: '<p style="color:#c00">&lt;b&gt;Ada&lt;/b&gt;</p><a href="#">a</a><img src="https://x.example/a.png" alt="A &lt;b&gt;Ada&lt;/b&gt;" style="max-width:100%">',
      },
    },
  ])
  const page = await t.server.fastify.inject({ url: `/v/${mail.token}` })
  // Styles are in the page's style sheet, whose policy allows no others; pictures of other hosts are not loaded.
  expect(page.body).toContain(
    '<div class="markup html-h own-colors"><p class="html-h-0">&lt;b&gt;Ada&lt;/b&gt;</p><a href="#" rel="noopener noreferrer">a</a><span>A &lt;b&gt;Ada&lt;/b&gt;</span></div>',
  )
  expect(page.body).toContain('.html-h .html-h-0 { color:#c00 }')
  expect(page.body).not.toContain('alert(1)')
})

test('a page in a language that no program knows, which earlier versions accepted, is English', async () => {
  const props = { title: 'T', items: [{ name: 'Mug', quantity: 1, amount: 1_234.5 }], currency: 'EUR' }
  account = await engagedAccount(t, { name: 'Language', blocks: [{ id: 'c', type: 'checkout', props }] })
  mail = await sendProject(t, sink, account)
  await t.app.sql(`update project_versions set content = content || '{"lang":"de-DE-DE"}' where account_id = $1`, [
    account.id,
  ])
  const page = await t.server.fastify.inject({ url: `/v/${mail.token}` })
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('€1,234.50')
})

const inherited = ['constructor', 'valueOf', 'toString', 'hasOwnProperty', 'isPrototypeOf']

test.each(inherited)(
  'a block with the id %s is not shown as answered before it is, on the page and in JSON',
  async (id) => {
    const form = {
      title: 'About {{ valueOf }}{{ constructor }}you',
      fields: [{ name: id, label: 'Name', type: 'text' }],
    }
    const items = [{ name: 'Mug {{ toString }}', quantity: 1, amount: 5 }]
    const props = {
      vote: { question: 'Which?', options: ['This', 'That'] },
      quiz: { question: 'Which?', options: ['This', 'That'], correct: 0 },
      form,
      checkout: { title: 'Mugs', items, currency: 'EUR' },
    }
    for (const [type, own] of Object.entries(props)) {
      account = await engagedAccount(t, { name: 'Odd', blocks: [{ id, type, props: own }] })
      mail = await sendProject(t, sink, account, { mergeData: { name: 'Ada' } })
      const page = await t.request('GET', mail.view)
      expect([type, page.status]).toEqual([type, 200])
      expect(page.body).not.toMatch(/Paid|Thank you|You answered|Not quite/)
      expect(page.body).toContain('<button')
      expect((await liveView(mail)).body.state).toEqual({})
      if (type === 'checkout') continue
      const value = type === 'form' ? { [id]: 'Ada' } : 'This'
      expect((await answer(t, mail, id, value)).body).toEqual({ ok: true, duplicate: false })
      expect((await answer(t, mail, id, value)).body).toEqual({ ok: true, duplicate: true })
      expect((await liveView(mail)).body.state).toEqual({ [id]: { kind: type, value, answeredAt: expect.any(Number) } })
    }
  },
)

test('merge data with such names fills their tags, and without them the tags are empty; __proto__ is dropped', async () => {
  const blocks = [{ id: 'b', type: 'text', props: { text: `x{{ ${inherited.join(' }}y{{ ')} }}z{{ __proto__ }}` } }]
  account = await engagedAccount(t, { name: 'Tags', blocks })
  mail = await sendProject(t, sink, account, { mergeData: {} })
  expect(mail.html).toContain('xyyyyz')
  const mergeData = Object.fromEntries(inherited.map((name, i) => [name, String(i)]))
  const body = JSON.stringify({ to: 'ada@people.example', projectId: account.projectId, mergeData }).replace(
    '"constructor"',
    '"__proto__":"p","constructor"',
  )
  const sent = await t.request('POST', '/send', { key: account.key, body })
  expect([sent.status, sent.body.status]).toEqual([200, 'sent'])
  const token = t.app.tokens.sign('liveview', [account.id, sent.body.id], null)
  const view = (await t.request('GET', `/liveview/${token}`)).body
  expect(view.recipient.fields).toEqual(mergeData)
  expect(view.blocks[0]).toMatchObject({ props: { text: 'x0y1y2y3y4z' } })
})

test.each([
  ['a changed one', (token: string) => `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`],
  [
    'one of another purpose',
    (token: string) => token.replace(/.*/, t.app.tokens.sign('open', ['acc_1', 'msg_1'], null)),
  ],
  ['one of an account that is not there', () => t.app.tokens.sign('liveview', ['acc_1', mail.id], null)],
  ['none at all', () => 'x'],
])('an invalid token returns 404, in JSON and as a page: %s', async (_, change) => {
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

test('a vote is recorded and fires once; the same vote again is a duplicate; a different one replaces it and fires again', async () => {
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

test('a rating is a whole number up to its max; a quiz keeps its first answer', async () => {
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
])('an invalid value returns 400 and changes nothing: %s %j', async (blockId, value, error) => {
  expect(await answer(t, mail, blockId, value)).toMatchObject({ status: 400, body: { error } })
  expect((await liveView(mail)).body.state).toEqual({})
  expect(await interactions()).toEqual([])
})

test.each(['nothing', 'hello', 'intro', 'start'])(
  'a block that can not be answered returns 404: %s',
  async (blockId) => {
    expect((await answer(t, mail, blockId, 'x')).status).toBe(404)
  },
)

test('a form fires form.submitted with contact null for an address in no list; it keeps its first answer', async () => {
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
  expect((await interactions())[0]!.interaction).toMatchObject({
    kind: 'form',
    value: { company: 'Acme', wishes: 'more' },
  })
})

test("a known contact's first form answer in a project fires lead.new, the next one in it does not", async () => {
  const { body } = await ok(
    t.request('POST', '/contacts', {
      key: account.key,
      body: { listId: await newList(), email: 'ada@people.example' },
    }),
  )
  await ok(answer(t, mail, 'about', { company: 'Acme' }))
  const second = await sendProject(t, sink, account)
  await ok(answer(t, second, 'about', { company: 'Acme' }))
  expect((await told('form.submitted')).map(({ data }) => data.contact!.rowId)).toEqual([
    body.contact!.rowId,
    body.contact!.rowId,
  ])
  expect((await told('lead.new')).map(({ data }) => data)).toEqual([
    { contact: body.contact, source: 'email-form', form: { id: 'about', name: 'Tell us about you' } },
  ])
  expect((await interactions())[0]!.recipient).toEqual({ email: 'ada@people.example', rowId: body.contact!.rowId })
})

test('20 concurrent answers to one vote are one interaction', async () => {
  const replies = await Promise.all(Array.from({ length: 20 }, () => answer(t, mail, 'colour', 'White')))
  expect(replies.filter(({ body }) => body.duplicate === false)).toHaveLength(1)
  expect(await interactions()).toHaveLength(1)
})

test('the page works without scripts: a link in the email only marks its option, the button answers', async () => {
  const shown = await t.request('GET', `${mail.view}?block=colour&value=Blue`)
  expect(shown.status).toBe(200)
  expect(shown.body).toContain('You chose <strong>Blue</strong>')
  expect(await interactions()).toEqual([])
  const post = (body: string) =>
    t.request('POST', mail.view, { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
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

test('merge data is escaped on the page, and its URLs can only be web addresses', async () => {
  const evil = await engagedAccount(t, {
    name: 'Hi {{ name }}',
    blocks: [
      { id: 'a', type: 'heading', props: { text: 'Hi {{ name }}' } },
      { id: 'b', type: 'button', props: { label: 'Go', url: '{{ url }}' } },
    ],
  })
  const mergeData = { name: '<script>alert(1)</script>', url: 'javascript:alert(1)' }
  const sent = await sendProject(t, sink, evil, { mergeData })
  const { body, headers } = await ok(t.request('GET', sent.view))
  expect(body).not.toContain('<script>alert')
  expect(body).not.toContain('javascript:')
  expect(String(headers['content-security-policy'])).not.toContain('unsafe-inline')
  expect((await liveView(sent)).body.blocks[1]).toMatchObject({ props: { url: '' } })
})

test('an email keeps the version that was sent, even if its project changes or is deleted', async () => {
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { deleteProject } = await import('../../src/studio/studio.ts')
    await deleteProject(work, account.projectId)
  })
  expect((await liveView(mail)).status).toBe(200)
  expect((await answer(t, mail, 'colour', 'Red')).body).toEqual({ ok: true, duplicate: false })
})

test('answers that a block had as another type are not counted for it', async () => {
  const file = (type: string, props: object) => ({ name: 'Asks', blocks: [{ id: 'asks', type, props }] })
  const question = { question: 'Which?', options: ['This', 'That'] }
  account = await engagedAccount(t, file('vote', question))
  mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'asks', 'This'))
  const summary = () => t.app.work(account.id, 'cli:test', (work) => summarizeResponses(work, account.projectId))
  expect((await summary()).blocks).toMatchObject([{ kind: 'vote', total: 1 }])
  await t.app.work(account.id, 'cli:test', (work) =>
    applyProjects(work, [file('quiz', { ...question, correct: 0 }) as never]),
  )
  expect(await summary()).toMatchObject({ counts: { vote: 1 }, blocks: [{ kind: 'quiz', total: 0 }] })
})

const newList = async (): Promise<string> => {
  const { createList } = await import('../../src/contacts/contacts.ts')
  return (await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People', fields: [] }))).id
}

test('a form field named email is in the event, but is not a column of the list', async () => {
  const fields = [
    { name: 'email', label: 'Another address', type: 'email' },
    { name: 'company', label: 'Company', type: 'text' },
  ]
  const listId = await newList()
  const file = { name: 'Ask', blocks: [{ id: 'ask', type: 'form', props: { title: 'Ask', listId, fields } }] }
  const [applied] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [file as never]))
  const sent = await sendProject(t, sink, { ...account, projectId: applied!.id! })
  const given = { email: 'other@people.example', company: 'Acme' }
  expect((await answer(t, sent, 'ask', given)).body).toEqual({ ok: true, duplicate: false })
  const [submitted] = await told('form.submitted')
  expect(submitted!.data).toMatchObject({ fields: given, contact: { fields: { company: 'Acme' } } })
  const { body } = await ok(t.request('GET', '/lists', { key: account.key }))
  expect(body.lists.find((list) => list.id === listId)!.fields).toEqual(['company'])
})

test('a form answer fills the columns that a full list has, also of a contact that is in the list', async () => {
  const fields = ['company', 'team'].map((name) => ({ name, label: name, type: 'text' }))
  const listId = await newList()
  const columns = ['company', ...Array.from({ length: 39 }, (_, i) => `column ${i}`)]
  await t.app.sql('update contact_lists set fields = $2 where id = $1', [listId, columns])
  const forms = ['one', 'two'].map((id) => ({ id, type: 'form', props: { title: id, listId, fields } }))
  const [applied] = await t.app.work(account.id, 'cli:test', (work) =>
    applyProjects(work, [{ name: 'Full', blocks: forms } as never]),
  )
  const sent = await sendProject(t, sink, { ...account, projectId: applied!.id! })
  for (const [block, company] of [
    ['one', 'Acme'],
    ['two', 'Globex'],
  ] as const) {
    const given = { company, team: '5' }
    expect((await answer(t, sent, block, given)).body).toEqual({ ok: true, duplicate: false })
    const submitted = (await told('form.submitted')).at(-1)!
    expect(submitted.data).toMatchObject({ fields: given, contact: { listId, fields: { company } } })
  }
})

test('a form that adds its recipient to a list is an interaction of that contact, which starts journeys and can be a hot lead', async () => {
  const fields = [{ name: 'company', label: 'Company', type: 'text' }]
  const block = { id: 'join', type: 'form', props: { title: 'Join', listId: await newList(), fields } }
  const [applied] = await t.app.work(account.id, 'cli:test', (work) =>
    applyProjects(work, [{ name: 'Join us', blocks: [block] } as never]),
  )
  const trigger = { kind: 'interaction', project: applied!.id!, interaction: 'form' }
  const [journey] = await t.app.work(account.id, 'cli:test', (work) =>
    applyJourneys(work, [{ name: 'Joined', trigger, steps: [{ kind: 'exit' }] }]),
  )
  const sent = await sendProject(t, sink, { ...account, projectId: applied!.id! })
  await t.app.work(account.id, 'cli:test', (work) => setScore(work, 'ada@people.example', 45))
  await ok(answer(t, sent, 'join', { company: 'Acme' }))
  const [submitted] = await told('form.submitted')
  const { rowId } = submitted!.data.contact!
  expect((await interactions()).map(({ recipient }) => recipient.rowId)).toEqual([rowId])
  expect((await told('lead.hot')).map(({ data }) => data.contact.rowId)).toEqual([rowId])
  const runs = await t.app.sql<{ rowId: string }>(
    'select row_id as "rowId" from journey_runs where account_id = $1 and journey_id = $2',
    [account.id, journey!.id],
  )
  expect(runs).toEqual([{ rowId }])
})

test('while writers of new contacts queue, a form that adds a contact queues too', async () => {
  const fields = [{ name: 'company', label: 'Company', type: 'text' }]
  const block = { id: 'join', type: 'form', props: { title: 'Join', listId: await newList(), fields } }
  const file = { name: 'Join us', blocks: [block] }
  const [applied] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [file as never]))
  const sent = await sendProject(t, sink, { ...account, projectId: applied!.id! })
  const ticket = await holdContactsTicket(t.app.database, account.id)
  noteContention(account.id)
  const pending = answer(t, sent, 'join', { company: 'Acme' })
  await untilLocked(t.app, 1)
  expect(await interactions()).toEqual([])
  await ticket.release()
  expect((await pending).body).toEqual({ ok: true, duplicate: false })
  expect((await told('lead.new')).length).toBe(1)
})

const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
const postPage = (form: Record<string, string>) =>
  t.request('POST', mail.view, { body: new URLSearchParams(form).toString(), headers: urlencoded })

const asked = {
  title: 'About you',
  fields: [
    { name: 'n', label: 'Full name', type: 'text' },
    { name: 'n mail', label: 'Work email', type: 'email', required: true },
    { name: 'size', label: 'Size', type: 'select', options: ['Very  large', 'Small'] },
    { name: 'news', label: 'Send news', type: 'checkbox' },
    { name: 'about', label: 'About', type: 'textarea' },
  ],
}

test('a refused form keeps the entered text and names the field by its label', async () => {
  account = await engagedAccount(t, { name: 'Form', blocks: [{ id: 'f', type: 'form', props: asked }] })
  mail = await sendProject(t, sink, account)
  const typed = {
    'field.n': '<Ada>',
    'field.size': 'Very  large',
    'field.news': 'true',
    'field.about': 'a\r\n</textarea>b',
  }
  const refused = await postPage({ block: 'f', ...typed, 'field.n mail': 'nobody' })
  expect(refused.status).toBe(400)
  expect(refused.body).toContain('<p class="problem" role="alert">Work email must be an email address</p>')
  for (const part of [
    'value="&lt;Ada&gt;"',
    'value="nobody"',
    '<option value="Very  large" selected>',
    ' checked>',
    '\na\r\n&lt;/textarea&gt;b</textarea>',
  ])
    expect(refused.body).toContain(part)
  expect(await interactions()).toEqual([])
  const taken = await postPage({ block: 'f', ...typed, 'field.n mail': 'ada@work.example' })
  expect([taken.status, taken.headers.location]).toEqual([303, `${mail.view}#f`])
  expect((await interactions())[0]!.interaction.value).toEqual({
    n: '<Ada>',
    'n mail': 'ada@work.example',
    size: 'Very  large',
    news: 'true',
    about: 'a\n</textarea>b',
  })
  // The API still names the field by its name.
  expect((await answer(t, await sendProject(t, sink, account), 'f', {})).body).toEqual({
    error: 'value.n mail is required',
  })
})

test('a form on the page accepts texts up to the limits of its fields in any script', async () => {
  account = await engagedAccount(t, { name: 'Form', blocks: [{ id: 'f', type: 'form', props: asked }] })
  mail = await sendProject(t, sink, account)
  const about = '漢'.repeat(10_000)
  expect((await postPage({ block: 'f', 'field.n mail': 'a@b.example', 'field.about': about })).status).toBe(303)
  expect((await interactions())[0]!.interaction.value).toMatchObject({ about })
  expect((await postPage({ block: 'none', 'field.about': about })).status).toBe(413)
})

test('the button of an option with a line break or two spaces answers with that option', async () => {
  const options = ['One\nline', 'Two  blanks']
  const props = { question: 'Which?', options }
  account = await engagedAccount(t, { name: 'Vote', blocks: [{ id: 'v', type: 'vote', props }] })
  mail = await sendProject(t, sink, account)
  expect((await postPage({ block: 'v', value: 'One\r\nline' })).status).toBe(303)
  expect((await postPage({ block: 'v', value: 'Two  blanks' })).status).toBe(303)
  expect((await interactions()).map(({ interaction }) => interaction.value).sort()).toEqual(options)
})

test('a malformed escape in a URL is an error page for pages, and { error } for the API', async () => {
  for (const path of ['/v/%E0%A4%A', '/f/%', '/f/confirm/%zz?x=1', '/b/%ff', '/t/c/%c3%28', '/join/%']) {
    const { status, body, headers } = await t.request('GET', path)
    expect([path, status, headers['content-type']]).toEqual([path, 404, 'text/html; charset=utf-8'])
    expect(body).toContain('There is no such page')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
  }
  const api = await t.request('GET', '/api/v1/liveview/%E0%A4%A')
  expect([api.status, api.body]).toEqual([400, { error: 'The URL is malformed' }])
  const script = await t.request('POST', '/f/%', { body: {} })
  expect([script.status, script.body]).toEqual([400, { error: 'The URL is malformed' }])
})
