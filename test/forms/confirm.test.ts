import { beforeEach, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact, leaveList } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { deleteForm } from '../../src/forms/forms.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { deleteSender } from '../../src/senders/senders.change.ts'
import { addSender, listSenders } from '../../src/senders/senders.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok } from '../support/app.ts'
import { testClock } from '../support/journeys.ts'
import { freeform } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'
import { type FormBench, formBench, urlencoded, useForms } from './support.ts'

const minute = 60_000

let bench: FormBench
const clock = testClock()

const sink = useSink()
const t = useForms(() => ({ now: clock.now, env: { SVC_SMTP_URL: sink.url } }))
beforeEach(async () => {
  bench = await formBench(t)
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(bench.account.id, 'cli:test', run)
const submit = async (id: string, email = 'ada@acme.test') =>
  (await t.request('POST', `/f/${id}`, { body: { email, first_name: 'Ada' } })).body
const optIn = () => bench.form({ name: 'Newsletter', doubleOptIn: true })
const signups = () => t.app.sql('select row_id from form_signups where account_id = $1', [bench.account.id])

test('with double opt-in the contact is pending, form.submitted fires and the link is sent, but lead.new does not fire yet', async () => {
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

test('GET of the link shows a button and changes nothing; neither does HEAD', async () => {
  await submit((await optIn()).id)
  const link = await bench.link()
  const page = await t.request('GET', link)
  expect(page.status).toBe(200)
  expect(page.body).toContain('<form method="post"><button type="submit">Confirm</button></form>')
  expect(page.body).toContain('ada@acme.test')
  expect((await t.server.fastify.inject({ method: 'HEAD', url: link })).statusCode).toBe(200)
  expect((await bench.contact()).status).toBe('pending')
})

test('POST makes the contact active: lead.new and the list’s journeys fire exactly once, even if it is repeated', async () => {
  const journey = { name: 'Hello', trigger: { kind: 'list-added', list: 'Leads' }, steps: [{ kind: 'exit' }] }
  const [applied] = await work((w) => applyJourneys(w, [journey]))
  const runs = () => t.app.sql('select email from journey_runs where journey_id = $1', [applied!.id])
  const { id, name } = await optIn()
  await submit(id)
  expect(await runs()).toEqual([])
  const link = await bench.link()
  const posts = await Promise.all(Array.from({ length: 10 }, () => t.request('POST', link)))
  expect(new Set(posts.map(({ status }) => status))).toEqual(new Set([200]))
  expect(posts[0]!.body).toContain('You are signed up')
  const contact = await bench.contact()
  expect(contact.status).toBe('active')
  expect((await bench.events())['lead.new']).toEqual({ contact, source: 'signup-form', form: { id, name } })
  expect(await bench.types()).toEqual(['contact.created', 'form.submitted', 'lead.new'])
  expect([await runs(), await signups()]).toEqual([[{ email: 'ada@acme.test' }], []])
  expect((await t.request('GET', link)).body).toContain('You are signed up')
})

test('submitting again never turns an active contact back to pending, and sends no link', async () => {
  const { id } = await optIn()
  await submit(id)
  await ok(t.request('POST', await bench.link()))
  clock.advance(10 * minute)
  expect(await submit(id)).toEqual({ ok: true, status: 'pending' })
  expect((await bench.contact()).status).toBe('active')
  expect(await bench.mails()).toHaveLength(1)
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(1)
})

test('while pending, every form of the list sends the link again, at most once in 5 minutes', async () => {
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
  await ok(t.request('POST', await bench.link()))
  expect((await bench.events())['lead.new'].form).toEqual({ id: second.id, name: 'Other' })
})

test('a form without double opt-in makes a pending contact of its list active', async () => {
  await submit((await optIn()).id)
  const link = await bench.link()
  expect(await submit((await bench.form()).id)).toEqual({ ok: true, status: 'active' })
  expect([(await bench.contact()).status, await signups()]).toEqual(['active', []])
  await ok(t.request('POST', link))
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(1)
})

test('marketing to a pending contact is suppressed until the confirmation, which also ends an earlier unsubscription', async () => {
  await work((w) => suppressAddresses(w, ['ada@acme.test'], 'unsubscribed'))
  const send = async () => {
    const body = freeform({ to: 'ada@acme.test', type: 'marketing' })
    return (await t.request('POST', '/send', { key: bench.account.key, body })).body
  }
  await submit((await optIn()).id)
  expect(await send()).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
  const link = await bench.link()
  await ok(t.request('GET', link))
  expect(await send()).toMatchObject({ status: 'suppressed' })
  await ok(t.request('POST', link))
  expect(await send()).toMatchObject({ status: 'sent' })
})

const reasons = async () =>
  (await work((w) => w.sql<{ reason: string }>('select reason from suppressions where account_id = $1', [w.accountId])))
    .map(({ reason }) => reason)
    .sort()
/** Signs a contact up and confirms it by its link. */
const confirmed = async () => {
  const form = await optIn()
  await submit(form.id)
  await ok(t.request('POST', await bench.link()))
  clock.advance(10 * minute)
  return form
}

test('an unsubscribed contact signs up again: the link is sent, and only its button removes `unsubscribed`', async () => {
  const { id } = await confirmed()
  const oldLink = await bench.link()
  await work((w) => suppressAddresses(w, ['ada@acme.test'], 'unsubscribed'))
  expect((await t.request('GET', oldLink)).body).not.toContain('<button')
  await ok(t.request('POST', oldLink))
  expect(await reasons()).toEqual(['unsubscribed'])
  expect(await submit(id)).toEqual({ ok: true, status: 'pending' })
  expect(await bench.mails()).toHaveLength(2)
  expect([await reasons(), (await bench.contact()).status]).toEqual([['unsubscribed'], 'active'])
  const link = await bench.link()
  expect((await t.request('GET', link)).body).toContain('<button type="submit">Confirm</button>')
  expect(await reasons()).toEqual(['unsubscribed'])
  const posts = await Promise.all(Array.from({ length: 5 }, () => t.request('POST', link)))
  expect(new Set(posts.map(({ status }) => status))).toEqual(new Set([200]))
  expect([await reasons(), await signups()]).toEqual([[], []])
  // An active contact is not a new lead, and the link does not end a later unsubscription.
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(1)
  await work((w) => suppressAddresses(w, ['ada@acme.test'], 'unsubscribed'))
  await ok(t.request('POST', link))
  expect(await reasons()).toEqual(['unsubscribed'])
})

test('the link removes no other suppression, and an address with one gets no link', async () => {
  const { id } = await confirmed()
  await work(async (w) => {
    await suppressAddresses(w, ['ada@acme.test'], 'unsubscribed')
    await suppressAddresses(w, ['ada@acme.test'], 'manual')
  })
  await submit(id)
  expect((await bench.mails()).map(({ status }) => status)).toEqual(['pending', 'suppressed'])
  await ok(t.request('POST', await bench.link()))
  expect(await reasons()).toEqual(['manual'])
})

test('an active contact is unchanged before the confirmation, which saves the submitted fields once', async () => {
  const { id } = await confirmed()
  const before = await bench.contact()
  const body = { email: 'ada@acme.test', first_name: 'Mallory' }
  expect((await t.request('POST', `/f/${id}`, { body })).body).toEqual({ ok: true, status: 'pending' })
  expect(await bench.contact()).toEqual(before)
  expect(await bench.types()).not.toContain('contact.updated')
  expect(await bench.mails()).toHaveLength(2)
  const held = await work((w) => readPerson(t.app, w, 'ada@acme.test'))
  expect(held.signups).toMatchObject([{ listId: bench.listId, formId: id, fields: { first_name: 'Mallory' } }])
  const link = await bench.link()
  await Promise.all(Array.from({ length: 5 }, () => ok(t.request('POST', link))))
  expect((await bench.contact()).fields).toEqual({
    ...{ first_name: 'Mallory', consent_source: 'form Newsletter' },
    consent_at: clock.now().toISOString(),
  })
  expect((await bench.types()).filter((type) => type === 'contact.updated')).toHaveLength(1)
  expect(await signups()).toEqual([])
})

test('a double opt-in form answers the same for unknown, pending, active and unsubscribed addresses', async () => {
  const { id } = await confirmed()
  await submit(id, 'pending@acme.test')
  await submit(id, 'gone@acme.test')
  await ok(t.request('POST', await bench.link()))
  await work((w) => suppressAddresses(w, ['gone@acme.test'], 'unsubscribed'))
  const said = []
  for (const name of ['new', 'pending', 'ada', 'gone']) {
    const json = await t.request('POST', `/f/${id}`, { body: { email: `${name}@acme.test`, first_name: 'Ada' } })
    const page = await t.request('POST', `/f/${id}`, urlencoded({ email: `${name}@acme.test`, first_name: 'Ada' }))
    said.push([json.status, json.body, page.status, page.headers.location])
  }
  expect(new Set(said.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify([200, { ok: true, status: 'pending' }, 303, `/f/${id}/thanks?status=pending`])]),
  )
})

const withoutSender = () =>
  work(async (w) => {
    for (const { id } of await listSenders(w)) await deleteSender(w, id)
  })
const withSender = () => work((w) => addSender(w, { email: 'hello@shop.example', name: 'The Shop' }))
const keepHouseOnce = () => runHousekeeping(t.app, new AbortController().signal)
const statuses = async () => (await bench.mails()).map(({ status }) => status)

test('a link whose email failed is sent at once when the form is submitted again', async () => {
  await withoutSender()
  const { id } = await optIn()
  await submit(id)
  await withSender()
  clock.advance(1)
  await submit(id)
  await submit(id)
  expect(await statuses()).toEqual(['failed', 'pending'])
})

test('a link whose email failed is retried with growing delays until it is sent or confirmed', async () => {
  await withoutSender()
  const { id } = await optIn()
  await submit(id)
  clock.advance(5 * minute - 1)
  await keepHouseOnce()
  expect(await statuses()).toEqual(['failed'])
  clock.advance(1)
  await Promise.all([keepHouseOnce(), keepHouseOnce()])
  expect(await statuses()).toEqual(['failed', 'failed'])
  clock.advance(5 * minute)
  await keepHouseOnce()
  expect(await statuses()).toEqual(['failed', 'failed'])
  await withSender()
  clock.advance(15 * minute)
  await keepHouseOnce()
  expect(await statuses()).toEqual(['failed', 'failed', 'pending'])
  clock.advance(100 * minute)
  await keepHouseOnce()
  expect(await statuses()).toEqual(['failed', 'failed', 'pending'])
  await ok(t.request('POST', await bench.link()))
  expect((await bench.contact()).status).toBe('active')
})

test('a failed link is retried five times; then the form must be submitted again', async () => {
  await withoutSender()
  await submit((await optIn()).id)
  for (let hours = 0; hours < 48; hours++) {
    clock.advance(60 * minute)
    await keepHouseOnce()
  }
  expect(await statuses()).toEqual(Array(6).fill('failed'))
})

test('a signup is deleted when its link expires', async () => {
  await submit((await optIn()).id)
  clock.advance(30 * 86_400_000 - 1)
  await keepHouseOnce()
  expect(await signups()).toHaveLength(1)
  clock.advance(2)
  await keepHouseOnce()
  expect(await signups()).toEqual([])
})

test('a form without double opt-in does not end an unsubscription, since anyone can submit it', async () => {
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
  expect((await t.request('POST', link)).status).toBe(404)
})

test.each<[string, () => Promise<unknown>]>([
  ['erased', () => work((w) => eraseContact(w, 'ada@acme.test', { dryRun: false }))],
  ['removed from the list', () => work((w) => leaveList(w, bench.listId, 'ada@acme.test'))],
  ['deleted with its list', () => deleteList(t.app, bench.account.id, bench.listId, { actor: 'cli:test' })],
])('the signup of a contact that was %s is deleted, and its link is a 404 page', async (_, remove) => {
  await submit((await optIn()).id)
  const link = await bench.link()
  await remove()
  expect(await signups()).toEqual([])
  expect((await t.request('POST', link)).status).toBe(404)
})

test('a deleted form is a 404 page, and its links still confirm', async () => {
  const { id } = await optIn()
  await submit(id)
  await work((w) => deleteForm(w, id))
  expect((await t.request('GET', `/f/${id}`)).status).toBe(404)
  expect((await t.request('POST', await bench.link())).status).toBe(200)
  expect((await bench.events())['lead.new'].form).toEqual({ id, name: 'Newsletter' })
})

test('without a sender the submission succeeds, and the email is listed as failed with the reason', async () => {
  await work(async (w) => {
    for (const { id } of await listSenders(w)) await deleteSender(w, id)
  })
  expect(await submit((await optIn()).id)).toEqual({ ok: true, status: 'pending' })
  expect(await bench.mails()).toMatchObject([{ status: 'failed', error: expect.stringContaining('sender') }])
})

test('forms and links of a deleted account do not work, and no row remains', async () => {
  const { id } = await optIn()
  await submit(id)
  const link = await bench.link()
  await deleteAccount(t.app, bench.account.id, { actor: 'cli:test' })
  for (const path of [`/f/${id}`, link]) {
    expect((await t.request('GET', path)).status).toBe(404)
    expect((await t.request('POST', path)).status).toBe(404)
  }
  const rows = await t.app.sql(
    'select id from forms where account_id = $1 union all select row_id from form_signups where account_id = $1',
    [bench.account.id],
  )
  expect(rows).toEqual([])
})
