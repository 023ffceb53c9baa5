import { beforeEach, describe, expect, test } from 'vitest'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { notFound } from '../../src/lib/problem.ts'
import {
  type LifecycleMail,
  listBindings,
  queueLifecycleMails,
  setBinding,
  unsetBinding,
} from '../../src/lifecycle/lifecycle.ts'
import { plainMail } from '../../src/pages/plain-mail.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'
import { plainProjects } from '../support/projects.ts'

const studio = plainProjects()
const known = new Set<string>()
const find = async ({ accountId }: { accountId: string }, id: string) => {
  if (!known.has(`${accountId} ${id}`)) throw notFound(`There is no ${id}`)
  return { id, title: `Title of ${id}` }
}
let account: TestAccount
let projectId: string

const t = useApp({
  env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' },
  projects: studio.projects,
  bindable: { course: find, webinar: find },
})
beforeEach(async () => {
  account = await sendingAccount(t)
  projectId = await makeProject('Welcome, {{ name }}')
  for (const id of ['crs_1', 'web_1']) known.add(`${account.id} ${id}`)
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2], id = account.id) => t.app.work(id, 'cli:test', run)
const makeProject = async (name: string, of = account.id): Promise<string> => {
  const document = { name, theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: 'Hi' } }] }
  const [made] = await t.app.work(of, 'cli:test', (w) => applyProjects(w, [document]))
  studio.add(of, made!.id!, name)
  return made!.id!
}
const bind = (subject = 'webinar:web_1', event = 'registered', project = projectId) =>
  work((w) => setBinding(t.app, w, subject, event, project))
const mail = (more: Partial<LifecycleMail> = {}): LifecycleMail => ({
  subject: { kind: 'webinar', id: 'web_1' },
  event: 'registered',
  to: 'ada@people.example',
  key: null,
  mergeData: { name: 'Ada' },
  plain: { subject: 'You are registered', html: '<p>Plain</p>', text: 'Plain' },
  ...more,
})
const queue = (...mails: LifecycleMail[]) => work((w) => queueLifecycleMails(t.app, w, mails))
const rows = () =>
  t.app.sql(
    `select email, subject, text, project_id as "projectId", merge_data as "mergeData", source_kind || ' ' || source_id as source,
       type, status, error from messages where account_id = $1 order by status desc, id`,
    [account.id],
  )
const plainRow = { subject: 'You are registered', text: 'Plain', projectId: null, status: 'pending' }

describe('a binding', () => {
  test('connects an event of its subject to a project of the account, by id or name', async () => {
    for (const [subject, event] of [
      ['course:crs_1', 'enrolled'],
      ['course:crs_1', 'completed'],
      ['course:crs_1', 'reminder'],
      ['webinar:web_1', 'registered'],
      ['webinar:web_1', 'reminder'],
    ] as const)
      expect(await bind(subject, event, 'Welcome, {{ name }}')).toMatchObject({ subject, event, projectId })
    const all = await work(listBindings)
    expect(all.map(({ subject, event }) => `${subject} ${event}`)).toEqual([
      'course:crs_1 completed',
      'course:crs_1 enrolled',
      'course:crs_1 reminder',
      'webinar:web_1 registered',
      'webinar:web_1 reminder',
    ])
    expect(all[0]).toMatchObject({ projectName: 'Welcome, {{ name }}', updatedAt: expect.any(Number) })
  })

  test('with an event that its subject does not have, or without a valid subject, is a usage error', async () => {
    for (const [subject, event] of [
      ['webinar:web_1', 'enrolled'],
      ['webinar:web_1', 'completed'],
      ['course:crs_1', 'registered'],
      ['course:crs_1', 'toString'],
      ['list:lst_1', 'registered'],
      ['webinar:', 'registered'],
      ['web_1', 'registered'],
    ] as const)
      await expect(bind(subject, event)).rejects.toMatchObject({ kind: 'usage' })
    await expect(work((w) => unsetBinding(w, 'web_1', 'registered'))).rejects.toMatchObject({ kind: 'usage' })
    expect(await work(listBindings)).toEqual([])
  })

  test('with a subject or project of another account is not found', async () => {
    const other = await t.account()
    const foreign = await makeProject('Theirs', other.id)
    known.add(`${other.id} web_9`)
    await expect(bind('webinar:web_9')).rejects.toMatchObject({ kind: 'not_found' })
    await expect(bind('webinar:web_1', 'registered', foreign)).rejects.toMatchObject({ kind: 'not_found' })
    expect(await work(listBindings)).toEqual([])
  })

  test('chooses a subject and a sender, which the next binding without them takes away', async () => {
    const { id } = await work((w) =>
      addSender(w, { email: 'news@shop.example', name: 'News', replyTo: 'desk@shop.example' }),
    )
    const bindWith = (letter: object) =>
      work((w) => setBinding(t.app, w, 'webinar:web_1', 'registered', projectId, letter))
    const letters = () =>
      t.app.sql(
        'select subject, from_email as "from", reply_to as "replyTo" from messages where account_id = $1 order by id',
        [account.id],
      )
    await bindWith({ subject: 'See you, {{ name }}', sender: id })
    await queue(mail())
    expect(await work(listBindings)).toMatchObject([{ subjectLine: 'See you, {{ name }}', sender: id }])
    await bindWith({ sender: 'News@shop.example' })
    await queue(mail())
    await bindWith({})
    await queue(mail())
    expect(await letters()).toEqual([
      { subject: 'See you, Ada', from: 'news@shop.example', replyTo: 'desk@shop.example' },
      { subject: 'Welcome, Ada', from: 'news@shop.example', replyTo: 'desk@shop.example' },
      { subject: 'Welcome, Ada', from: 'hello@shop.example', replyTo: null },
    ])
    await expect(bindWith({ sender: 'ceo@bank.example' })).rejects.toMatchObject({ kind: 'not_found' })
    await expect(bindWith({ subject: '' })).rejects.toMatchObject({ kind: 'invalid' })
  })

  test('is replaced by the next one, can be unset once, and is separate for each account', async () => {
    await bind()
    const other = await makeProject('Another')
    await bind('webinar:web_1', 'registered', other)
    expect(await work(listBindings)).toMatchObject([{ projectId: other }])
    const stranger = await t.account()
    expect(await work(listBindings, stranger.id)).toEqual([])
    expect(await work((w) => unsetBinding(w, 'webinar:web_1', 'registered'), stranger.id)).toBe(false)
    expect(await work((w) => unsetBinding(w, 'webinar:web_1', 'registered'))).toBe(true)
    expect(await work((w) => unsetBinding(w, 'webinar:web_1', 'registered'))).toBe(false)
  })
})

describe('a lifecycle email', () => {
  test('of a bound event is rendered from the project, with its merge fields and the project’s name as subject', async () => {
    await bind()
    expect(await queue(mail())).toMatchObject([{ status: 'pending' }])
    expect(await rows()).toEqual([
      {
        email: 'ada@people.example',
        subject: 'Welcome, Ada',
        text: null,
        projectId,
        mergeData: { name: 'Ada' },
        source: 'lifecycle web_1:registered',
        type: 'transactional',
        status: 'pending',
        error: null,
      },
    ])
  })

  test('of an unbound event is plain, also if another event or subject is bound', async () => {
    await bind()
    await queue(
      mail({ event: 'reminder' }),
      mail({ subject: { kind: 'webinar', id: 'web_2' } }),
      mail({ subject: { kind: 'course', id: 'web_1' } }),
    )
    expect(await rows()).toMatchObject([plainRow, plainRow, plainRow])
  })

  test('bound to a deleted project, or to one of another account, is plain', async () => {
    const other = await t.account()
    const foreign = await makeProject('Theirs', other.id)
    await bind()
    for (const project of ['prj_gone', foreign]) {
      await t.app.sql('update lifecycle_bindings set project_id = $2 where account_id = $1', [account.id, project])
      await queue(mail())
    }
    expect(await rows()).toMatchObject([plainRow, plainRow])
  })

  test('bound to a sender that was deleted comes from the default sender, as does its calendar entry', async () => {
    const news = await work((w) => addSender(w, { email: 'news@shop.example', name: 'News' }))
    await work((w) => setBinding(t.app, w, 'webinar:web_1', 'registered', projectId, { sender: news.id }))
    await work((w) => setBinding(t.app, w, 'course:crs_1', 'enrolled', projectId, { sender: news.email }))
    await t.app.sql('delete from senders where account_id = $1 and id = $2', [account.id, news.id])
    const entry = ({ email }: { email: string }) => `ORGANIZER:mailto:${email}`
    await queue(mail({ entry }), mail({ subject: { kind: 'course', id: 'crs_1' }, event: 'enrolled' }))
    const sent = await t.app.sql(
      'select from_email as "from", subject, calendar, status from messages where account_id = $1 order by id',
      [account.id],
    )
    const expected = { from: 'hello@shop.example', subject: 'Welcome, Ada', status: 'pending' }
    expect(sent).toEqual([
      { ...expected, calendar: 'ORGANIZER:mailto:hello@shop.example' },
      { ...expected, calendar: null },
    ])
  })

  test('of an event that can’t be bound is always plain', async () => {
    await bind()
    await queue(mail({ event: 'waitlisted' }))
    expect(await rows()).toMatchObject([plainRow])
  })

  test('is sent once for a key, and never if the unit of work fails', async () => {
    await bind()
    expect(await queue(mail({ key: 'reminder:1' }), mail({ key: 'reminder:1' }))).toMatchObject([
      { status: 'pending' },
      { status: 'known' },
    ])
    const failing = work(async (w) => {
      await queueLifecycleMails(t.app, w, [mail()])
      throw new Error('after')
    })
    await expect(failing).rejects.toThrow('after')
    expect(await rows()).toHaveLength(1)
  })

  test('that can’t be sent without a sender or quota throws nothing and is listed with the reason', async () => {
    account = await t.account()
    expect(await queue(mail())).toMatchObject([{ status: 'failed' }])
    expect(await rows()).toMatchObject([{ status: 'failed', error: expect.stringContaining('sender') }])
    account = await sendingAccount(t, { plan: 'starter' })
    await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'starter', { sends: 1 }))
    expect(await queue(mail(), mail())).toMatchObject([{ status: 'pending' }, { status: 'failed' }])
    expect(await rows()).toMatchObject([{ error: null }, { error: 'Monthly send quota for your plan exceeded' }])
  })
})

test('a plain email escapes its texts in HTML, and has a subject of one line', () => {
  const parts = [
    '<script>1</script> & more',
    { label: 'Join "now"', url: 'https://svc.example/join/a?b=1&c="' },
    { title: '<b>1</b>', lines: ['{{label}} $& <i>'] },
  ]
  const { subject, html, text } = plainMail('Hi\r\nBcc: <b>x</b>\u2028y', parts, { preheader: '<b>"{{title}}' })
  expect(subject).toBe('Hi Bcc: <b>x</b> y')
  expect(html).not.toMatch(/<script|<b>|<i>/)
  expect(html).toContain('>&lt;b&gt;1&lt;/b&gt;</strong><br>{{label}} $&amp; &lt;i&gt;')
  expect(html).toContain('>&lt;b&gt;&quot;{{title}}&#847;')
  expect(html).toContain('&lt;script&gt;1&lt;/script&gt; &amp; more')
  expect(html).toContain('href="https://svc.example/join/a?b=1&amp;c=&quot;"')
  expect(text).toBe(
    'Hi Bcc: <b>x</b> y\n\n<script>1</script> & more\n\nJoin "now": https://svc.example/join/a?b=1&c="\n\n<b>1</b>\n{{label}} $& <i>\n',
  )
})
