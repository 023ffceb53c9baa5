import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.ts'
import { deleteList, eraseContact, leaveList } from '../../src/contacts/contacts.ts'
import { deleteForm } from '../../src/forms/forms.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { deleteSender, listSenders, suppressAddresses } from '../../src/messages/messages.ts'
import type { Work } from '../../src/store/work.ts'
import { testClock } from '../support/journeys.ts'
import { freeform } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'
import { type FormBench, type FormsApp, formBench, startForms } from './support.ts'

const minute = 60_000

let t: FormsApp
let sink: Sink
let bench: FormBench
const clock = testClock()

beforeAll(async () => {
  sink = await openSink()
  t = await startForms({ now: clock.now, env: { SVC_SMTP_URL: sink.url } })
})
afterAll(async () => {
  await t.close()
  await sink.close()
})
beforeEach(async () => {
  bench = await formBench(t)
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(bench.account.id, 'cli:test', run)
const submit = async (id: string, email = 'ada@acme.test') =>
  (await t.request('POST', `/f/${id}`, { body: { email, first_name: 'Ada' } })).body
const optIn = () => bench.form({ name: 'Newsletter', doubleOptIn: true })
const signups = () => t.app.sql('select row_id from form_signups where account_id = $1', [bench.account.id])

test('with double opt-in the contact is pending, the form is submitted, and the link is mailed; no lead is new yet', async () => {
  const { id, name } = await optIn()
  expect(await submit(id)).toEqual({ ok: true, status: 'pending' })
  const contact = await bench.contact()
  expect(contact).toMatchObject({ status: 'pending', fields: { first_name: 'Ada' } })
  const form = { id, name }
  const fields = { first_name: 'Ada' }
  expect(await bench.events()).toEqual({
    'contact.created': { contact },
    'form.submitted': { source: 'signup-form', form, fields, contact, submittedAt: contact.updatedAt },
  })
  expect(await bench.mails()).toMatchObject([
    { email: 'ada@acme.test', subject: 'Please confirm: Newsletter', status: 'pending', error: null },
  ])
})

test('the GET of the link shows a button and does nothing, HEAD neither', async () => {
  await submit((await optIn()).id)
  const link = await bench.link()
  const page = await t.request('GET', link as never)
  expect(page.status).toBe(200)
  expect(page.body).toContain('<form method="post"><button type="submit">Confirm</button></form>')
  expect(page.body).toContain('ada@acme.test')
  expect((await t.server.fastify.inject({ method: 'HEAD', url: link })).statusCode).toBe(200)
  expect((await bench.contact()).status).toBe('pending')
})

test('the POST makes the contact active: lead.new and the list’s journeys fire, once, however often it comes', async () => {
  const journey = { name: 'Hello', trigger: { kind: 'list-added', list: 'Leads' }, steps: [{ kind: 'exit' }] }
  const [applied] = await work((w) => applyJourneys(w, [journey]))
  const runs = () => t.app.sql('select email from journey_runs where journey_id = $1', [applied!.id])
  const { id, name } = await optIn()
  await submit(id)
  expect(await runs()).toEqual([])
  const link = await bench.link()
  const posts = await Promise.all(Array.from({ length: 10 }, () => t.request('POST', link as never)))
  expect(new Set(posts.map(({ status }) => status))).toEqual(new Set([200]))
  expect(posts[0]!.body).toContain('You are signed up')
  const contact = await bench.contact()
  expect(contact.status).toBe('active')
  expect((await bench.events())['lead.new']).toEqual({ contact, source: 'signup-form', form: { id, name } })
  expect(await bench.types()).toEqual(['contact.created', 'form.submitted', 'lead.new'])
  expect([await runs(), await signups()]).toEqual([[{ email: 'ada@acme.test' }], []])
  expect((await t.request('GET', link as never)).body).toContain('You are signed up')
})

test('submitting again never turns an active contact back to pending, and mails no link', async () => {
  const { id } = await optIn()
  await submit(id)
  await t.request('POST', (await bench.link()) as never)
  clock.advance(10 * minute)
  expect(await submit(id)).toEqual({ ok: true, status: 'active' })
  expect((await bench.contact()).status).toBe('active')
  expect(await bench.mails()).toHaveLength(1)
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(1)
})

test('while pending it mails the link again, at most once in 5 minutes, whichever form of the list it is', async () => {
  const first = await optIn()
  const second = await bench.form({ name: 'Other', doubleOptIn: true })
  await Promise.all(Array.from({ length: 10 }, (_, i) => submit(i % 2 ? first.id : second.id)))
  clock.advance(5 * minute - 1)
  await submit(first.id)
  expect(await bench.mails()).toHaveLength(1)
  clock.advance(1)
  expect(await submit(second.id)).toEqual({ ok: true, status: 'pending' })
  await submit(second.id)
  expect(await bench.mails()).toHaveLength(2)
  expect((await bench.types()).filter((type) => type === 'contact.created')).toHaveLength(1)
  await t.request('POST', (await bench.link()) as never)
  expect((await bench.events())['lead.new'].form).toEqual({ id: second.id, name: 'Other' })
})

test('a form of the list that asks for no confirmation makes a pending contact active', async () => {
  await submit((await optIn()).id)
  const link = await bench.link()
  expect(await submit((await bench.form()).id)).toEqual({ ok: true, status: 'active' })
  expect([(await bench.contact()).status, await signups()]).toEqual(['active', []])
  await t.request('POST', link as never)
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(1)
})

test('marketing mail to who is pending is suppressed, and goes once it is confirmed; who had unsubscribed has asked for it again', async () => {
  await work((w) => suppressAddresses(w, ['ada@acme.test'], 'unsubscribed'))
  const send = async () => {
    const body = freeform({ to: 'ada@acme.test', type: 'marketing' })
    return (await t.request('POST', '/send', { key: bench.account.key, body })).body
  }
  await submit((await optIn()).id)
  expect(await send()).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
  const link = await bench.link()
  await t.request('GET', link as never)
  expect(await send()).toMatchObject({ status: 'suppressed' })
  await t.request('POST', link as never)
  expect(await send()).toMatchObject({ status: 'sent' })
})

test('a form that asks for no confirmation, which anybody can fill in, takes no unsubscription back', async () => {
  await work((w) => suppressAddresses(w, ['ada@acme.test'], 'unsubscribed'))
  await submit((await bench.form()).id)
  expect(await work((w) => w.sql('select reason from suppressions where account_id = $1', [w.accountId]))).toEqual([
    { reason: 'unsubscribed' },
  ])
})

test('a changed, foreign or expired token is a 404 page and confirms nothing', async () => {
  await submit((await optIn()).id)
  const link = await bench.link()
  const token = link.slice('/f/confirm/'.length)
  const { rowId } = await bench.contact()
  const subject = [bench.account.id, bench.listId, rowId]
  const others = [
    'x',
    token.slice(0, -1),
    `${token}A`,
    t.app.tokens.sign('unsubscribe', subject, null),
    t.app.tokens.sign('confirm', [(await t.account()).id, bench.listId, rowId], null),
    t.app.tokens.sign('confirm', subject, clock.now().getTime()),
  ]
  for (const other of others) {
    for (const method of ['GET', 'POST'] as const) {
      const reply = await t.request(method, `/f/confirm/${other}`)
      expect([other, reply.status]).toEqual([other, 404])
    }
  }
  expect((await bench.contact()).status).toBe('pending')
  clock.advance(30 * 86_400_000)
  expect((await t.request('POST', link as never)).status).toBe(404)
})

test.each<[string, () => Promise<unknown>]>([
  ['erased', () => work((w) => eraseContact(w, 'ada@acme.test', { dryRun: false }))],
  ['taken out of the list', () => work((w) => leaveList(w, bench.listId, 'ada@acme.test'))],
  ['gone with its list', () => deleteList(t.app, bench.account.id, bench.listId, { actor: 'cli:test' })],
])('a contact that was %s leaves nothing of its sign-up, and its link is a 404 page', async (_, remove) => {
  await submit((await optIn()).id)
  const link = await bench.link()
  await remove()
  expect(await signups()).toEqual([])
  expect((await t.request('POST', link as never)).status).toBe(404)
})

test('a deleted form is a 404 page, its links still confirm', async () => {
  const { id } = await optIn()
  await submit(id)
  await work((w) => deleteForm(w, id))
  expect((await t.request('GET', `/f/${id}`)).status).toBe(404)
  expect((await t.request('POST', (await bench.link()) as never)).status).toBe(200)
  expect((await bench.events())['lead.new'].form).toEqual({ id, name: 'Newsletter' })
})

test('without a sender the submission succeeds, and the mail stands failed with its reason', async () => {
  await work(async (w) => {
    for (const { id } of await listSenders(w)) await deleteSender(w, id)
  })
  expect(await submit((await optIn()).id)).toEqual({ ok: true, status: 'pending' })
  expect(await bench.mails()).toMatchObject([{ status: 'failed', error: expect.stringContaining('sender') }])
})

test('of a deleted account no form answers, no link confirms, and no row stays', async () => {
  const { id } = await optIn()
  await submit(id)
  const link = await bench.link()
  await deleteAccount(t.app, bench.account.id, { actor: 'cli:test' })
  for (const path of [`/f/${id}`, link]) {
    expect((await t.request('GET', path as never)).status).toBe(404)
    expect((await t.request('POST', path as never)).status).toBe(404)
  }
  const rows = await t.app.sql(
    'select id from forms where account_id = $1 union all select row_id from form_signups where account_id = $1',
    [bench.account.id],
  )
  expect(rows).toEqual([])
})
