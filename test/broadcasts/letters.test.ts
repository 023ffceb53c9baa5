import { expect, test } from 'vitest'
import { changeBrand } from '../../src/accounts/accounts.brand.ts'
import { personalData } from '../../src/app/personal-data.ts'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  sendBroadcast,
  showBroadcast,
  testBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { deleteSender, makeDefaultSender } from '../../src/senders/senders.change.ts'
import { addSender } from '../../src/senders/senders.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects, deleteProject, planDeletion } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { type Audience, audience } from '../support/broadcasts.ts'
import { eventually } from '../support/eventually.ts'
import { startMail, tallyMessages } from '../support/messages.ts'
import { plainProject } from '../support/projects.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))

const asked = (more: object) => NewBroadcast.parse({ list: 'People', project: 'Spring', ...more })
const draft = ({ account }: Audience, more: object = {}) =>
  t.app.work(account.id, 'cli:test', (work) => createBroadcast(work, asked(more)))
const send = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => sendBroadcast(t.app, work, id))
const show = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => showBroadcast(work, id))
const step = ({ account }: Audience, id: string) =>
  t.app.work(account.id, 'cli:test', (work) => advanceBroadcast(t.app, work, id))
const steps = async (who: Audience, id: string) => {
  while ((await step(who, id))?.isMore);
}

/** Changes the project's name and content, and the account's default sender. */
const changeAll = async ({ account, projectId }: Audience, n: number) =>
  t.app.work(account.id, 'cli:test', async (work) => {
    const text = { id: 'hello', type: 'text', props: { text: `Version ${n}` } }
    await applyProjects(work, [{ ...plainProject(`Spring ${n}`), id: projectId, blocks: [text] }])
    const { id } = await addSender(work, { email: `other${n}@shop.example`, name: 'Other', replyTo: 'r@shop.example' })
    await makeDefaultSender(work, id)
  })

const kindsOf = ({ account }: Audience) =>
  t.app.sql(
    `select project_version as version, subject, from_email as "from", from_name as name, reply_to as "replyTo", status, count(*)
     from messages where account_id = $1 group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3`,
    [account.id],
  )

test('a project and a sender that change between two batches change nothing of what goes out', async () => {
  const who = await audience(t, 1100)
  const { id } = await draft(who, { replyTo: 'Desk@shop.example' })
  expect(await show(who, id)).toMatchObject({ projectVersion: null, subject: 'Spring', replyTo: 'desk@shop.example' })
  await send(who, id)
  await changeAll(who, 1)
  await step(who, id)
  await changeAll(who, 2)
  await steps(who, id)
  expect(await kindsOf(who)).toEqual([
    {
      ...{ version: 1, subject: 'Spring', from: 'hello@shop.example', name: 'The Shop' },
      ...{ replyTo: 'desk@shop.example', status: 'pending', count: 1100 },
    },
  ])
  expect(await show(who, id)).toMatchObject({
    ...{ projectVersion: 1, subject: 'Spring', from: { email: 'hello@shop.example', name: 'The Shop' } },
    ...{ replyTo: 'desk@shop.example', rate: null, startedAt: expect.any(Number), endedAt: null },
  })
})

test('a scheduled broadcast sends what was fixed when it was sent, not what is current at its time', async () => {
  const who = await audience(t, 3)
  const { id } = await draft(who, { at: new Date(t.app.now().getTime() + 3_600_000).toISOString() })
  await changeAll(who, 1)
  await send(who, id)
  await changeAll(who, 2)
  await t.advance(3_600_000)
  await steps(who, id)
  const [kind, ...others] = await kindsOf(who)
  expect(others).toEqual([])
  expect(kind).toMatchObject({
    version: 2,
    subject: 'Spring 1',
    from: 'other1@shop.example',
    replyTo: 'r@shop.example',
  })
})

test('a broadcast whose project is deleted after it was sent goes out as it was fixed', async () => {
  const who = await audience(t, 3)
  const remove = () => t.app.work(who.account.id, 'cli:test', (work) => deleteProject(work, who.projectId))
  const uses = () => t.app.work(who.account.id, 'cli:test', (work) => planDeletion(work, who.projectId))
  const { id } = await draft(who, { at: new Date(t.app.now().getTime() + 3_600_000).toISOString() })
  const { id: unsent } = await draft(who)
  await send(who, id)
  expect(await uses()).toMatchObject({ broadcasts: 1 })
  await remove()
  await t.advance(3_600_000)
  await steps(who, id)
  expect(await kindsOf(who)).toMatchObject([{ version: 1, subject: 'Spring', status: 'pending', count: 3 }])
  const mail = startMail(t.app)
  await eventually(async () => (await tallyMessages(t.app, who.account.id)).sent === 3)
  await mail.stop()
  await expect(send(who, unsent)).rejects.toThrow('There is no project')
})

test('a broadcast that an earlier version sent is fixed with its next batch', async () => {
  const who = await audience(t, 1100)
  const { id } = await draft(who)
  await send(who, id)
  await t.app.sql('update broadcasts set letter = null where id = $1', [id])
  await step(who, id)
  await changeAll(who, 1)
  await steps(who, id)
  expect(await kindsOf(who)).toMatchObject([{ version: 1, from: 'hello@shop.example', count: 1100 }])
})

test('a sender that is deleted during the sending sends nothing more', async () => {
  const who = await audience(t, 600)
  const { id } = await draft(who, { sender: 'hello@shop.example' })
  await send(who, id)
  await step(who, id)
  await t.app.work(who.account.id, 'cli:test', (work) => deleteSender(work, 'hello@shop.example'))
  await changeAll(who, 1)
  await steps(who, id)
  expect(await show(who, id)).toMatchObject({ queued: 500, failed: 100 })
})

test('--sender names a sender by id or address; one that the account may not use is refused', async () => {
  const who = await audience(t, 1)
  const { id: senderId } = await t.app.work(who.account.id, 'cli:test', (work) =>
    addSender(work, { email: 'news@shop.example', name: 'News', replyTo: 'desk@shop.example' }),
  )
  for (const sender of [senderId, 'News@shop.example']) {
    const made = await draft(who, { sender })
    const chosen = { from: { email: 'news@shop.example', name: 'News' }, replyTo: 'desk@shop.example' }
    expect(made).toMatchObject(chosen)
    await send(who, made.id)
    expect(await show(who, made.id)).toMatchObject(chosen)
  }
  for (const sender of ['ceo@bank.example', 'snd_unknown', senderId.slice(0, -1)])
    await expect(draft(who, { sender })).rejects.toMatchObject({
      kind: 'not_found',
      message: expect.stringMatching(/sender/),
    })
  expect(() => asked({ replyTo: 'nobody' })).toThrow()
})

test('a test ends with the postal address of the account, as what is sent does', async () => {
  const who = await audience(t, 1)
  await t.app.work(who.account.id, 'cli:test', (work) =>
    changeBrand(work, who.account.id, { postalAddress: 'Shop\n1 Main Street' }),
  )
  const { id } = await draft(who)
  await testBroadcast(t.app, who.account.id, 'cli:test', id, 'boss@shop.example')
  expect(sink.mails.at(-1)!.raw).toContain('1 Main Street')
})

test('test and send say which version they use, and send whether another one was tested', async () => {
  const who = await audience(t, 1)
  const { id } = await draft(who, { replyTo: 'desk@shop.example' })
  const plan = () => t.app.work(who.account.id, 'cli:test', (work) => planBroadcast(t.app, work, id))
  expect(await plan()).toMatchObject({ projectVersion: 1, testedVersion: null })
  const tested = await testBroadcast(t.app, who.account.id, 'cli:test', id, 'boss@shop.example')
  expect(tested).toMatchObject({ status: 'sent', projectVersion: 1 })
  expect(sink.mails.at(-1)!.header('reply-to')).toContain('desk@shop.example')
  await changeAll(who, 1)
  expect(await plan()).toMatchObject({ projectVersion: 2, testedVersion: 1, subject: 'Spring 1' })
  const test = () => testBroadcast(t.app, who.account.id, 'cli:test', id, 'boss@shop.example')
  sink.always({ refuse: { at: 'data', answer: '550 Refused' } })
  expect(await test()).toMatchObject({ status: 'failed', projectVersion: 2 })
  sink.always({})
  expect(await plan()).toMatchObject({ testedVersion: 1 })
  await test()
  expect(await plan()).toMatchObject({ projectVersion: 2, testedVersion: 2 })
  await send(who, id)
  await changeAll(who, 2)
  // A test of a broadcast that was sent shows what it sends.
  const after = await testBroadcast(t.app, who.account.id, 'cli:test', id, 'boss@shop.example')
  expect(after.projectVersion).toBe(2)
})

test('an erased address is no Reply-To of a broadcast any more, neither of a draft nor of one that was sent', async () => {
  const who = await audience(t, 1)
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(who.account.id, 'cli:test', operation)
  const replyTo = 'c0@people.example'
  const [sent, kept, other] = [
    await draft(who, { replyTo }),
    await draft(who, { replyTo }),
    await draft(who, { replyTo: 'cc0@people.example' }),
  ]
  await send(who, sent.id)
  const { broadcasts } = await run((work) => readPerson(t.app, work, replyTo))
  expect(broadcasts).toEqual([sent, kept].map(({ id, name }) => ({ id, name, replyTo })))
  await run((work) => eraseContact(work, replyTo, { dryRun: false, personalData }))
  const shown = await Promise.all([sent, kept, other].map(({ id }) => show(who, id)))
  expect(shown.map((view) => view.replyTo)).toEqual([null, null, 'cc0@people.example'])
  expect(
    JSON.stringify(await t.app.sql('select * from broadcasts where id = any($1)', [[sent.id, kept.id]])),
  ).not.toContain(replyTo)
})

test('an export names the broadcasts that come from the address, also by default; an erasure keeps them', async () => {
  const who = await audience(t, 1)
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(who.account.id, 'cli:test', operation)
  const email = 'c0@people.example'
  await run((work) => addSender(work, { email, name: 'Ada' }))
  const chosen = await draft(who, { sender: email })
  await draft(who)
  await run((work) => makeDefaultSender(work, email))
  const byDefault = await draft(who)
  await send(who, byDefault.id)
  const named = [chosen, byDefault].map(({ id, name }) => ({ id, name }))
  const from = async () => (await run((work) => readPerson(t.app, work, email))).broadcastsFrom
  expect(await from()).toEqual(named)
  await run((work) => eraseContact(work, email, { dryRun: false, personalData }))
  expect(await from()).toEqual(named)
})
