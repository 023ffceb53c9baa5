import { beforeEach, expect, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { addColumns, eraseContact, leaveList, readTimeline, requireList } from '../../src/contacts/contacts.ts'
import { updateForm } from '../../src/forms/forms.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok } from '../support/app.ts'
import { testClock } from '../support/journeys.ts'
import { type FormBench, formBench, useForms } from './support.ts'

/* The evidence that a confirmation leaves. */

let bench: FormBench
const clock = testClock()

const env = { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }
const t = useForms(() => ({ now: clock.now, env: { ...env, SVC_CONSENT_ADDRESSES: 'on' } }))
const quiet = useForms(() => ({ now: clock.now, env }))
beforeEach(async () => {
  bench = await formBench(t)
})

const email = 'ada@acme.test'
const work = <T>(run: (work: Work) => Promise<T>, { app } = t) => app.work(bench.account.id, 'cli:test', run)
const optIn = (name = 'Newsletter') =>
  bench.form({
    name,
    doubleOptIn: true,
    fields: [
      { name: 'first_name', label: 'Your name' },
      { name: 'agree', label: 'I agree to the terms', type: 'checkbox' },
    ],
  })
const submit = (id: string, name = 'Ada', at = t) =>
  ok(at.request('POST', `/f/${id}`, { body: { email, first_name: name, agree: true } }))
const confirm = async (at = t) => ok(at.request('POST', await bench.link()))
const consents = (at = t) => work((w) => readPerson(at.app, w, email), at)
const given = async () => {
  const { timeline } = await work((w) => readTimeline(t.app, w, email, 50))
  return timeline.filter(({ kind }) => kind === 'consent.given').map(({ at, title }) => ({ at, title }))
}

test('a confirmation writes two fields, a row with the fields as they were shown, and an entry of the timeline', async () => {
  const { id, fields } = await optIn()
  await submit(id)
  await work((w) => updateForm(w, id, { fields: ['first_name'] }))
  clock.advance(90_000)
  expect((await bench.contact()).fields).not.toHaveProperty('consent_at')
  await confirm()
  const at = clock.now().getTime()
  const contact = await bench.contact()
  const evidence = { consent_source: 'form Newsletter', consent_at: new Date(at).toISOString() }
  expect(contact.fields).toEqual({ first_name: 'Ada', agree: 'true', ...evidence })
  expect((await bench.events())['lead.new'].contact).toEqual(contact)
  expect((await bench.types()).sort()).toEqual(['contact.created', 'form.submitted', 'lead.new'])
  const row = { formId: id, form: 'Newsletter', at, fields, address: '127.0.0.1' }
  expect(await consents()).toMatchObject({ consents: [row] })
  expect(await given()).toEqual([{ at, title: 'form Newsletter' }])
  // The same link again changes nothing.
  clock.advance(1_000)
  await confirm()
  expect(await consents()).toMatchObject({ consents: [row] })
  expect((await bench.contact()).fields.consent_at).toBe(evidence.consent_at)
})

test('an active contact that confirms again gets the newer fields, and both consents stay', async () => {
  const first = await optIn()
  await submit(first.id)
  await confirm()
  const [before] = await given()
  const second = await optIn('Offers')
  clock.advance(10 * 60_000)
  await work((w) => suppressAddresses(w, [email], 'unsubscribed'))
  await submit(second.id, 'Eve')
  expect((await bench.contact()).fields).toMatchObject({ first_name: 'Ada', consent_source: 'form Newsletter' })
  await confirm()
  const at = clock.now().getTime()
  expect((await bench.contact()).fields).toMatchObject({
    first_name: 'Eve',
    consent_source: 'form Offers',
    consent_at: new Date(at).toISOString(),
  })
  expect(await given()).toEqual([{ at, title: 'form Offers' }, before])
  expect((await consents()).consents).toMatchObject([{ formId: first.id }, { formId: second.id, at }])
})

test('an IPv4 address is kept as such, also if the socket writes it as IPv6-mapped', async () => {
  const { id } = await optIn()
  await submit(id)
  await t.server.fastify.inject({ method: 'POST', url: await bench.link(), remoteAddress: '::ffff:198.51.100.7' })
  expect(await consents()).toMatchObject({ consents: [{ address: '198.51.100.7' }] })
})

test('without the setting no address is kept', async () => {
  const { id } = await optIn()
  bench = await formBench(quiet)
  const form = await bench.form({ name: 'Newsletter', doubleOptIn: true })
  expect(form.id).not.toBe(id)
  await submit(form.id, 'Ada', quiet)
  await confirm(quiet)
  const [row] = (await consents(quiet)).consents as object[]
  expect(row).toMatchObject({ formId: form.id })
  expect(row).not.toHaveProperty('address')
})

test('a list without room for two more columns keeps the row only', async () => {
  const { id } = await optIn()
  await work(async (w) => {
    const list = { id: bench.listId, ...(await requireList(w, bench.listId)) }
    addColumns(
      w,
      list,
      Array.from({ length: 39 - list.fields.length }, (_, i) => `column ${i}`),
    )
  })
  await submit(id)
  await confirm()
  const contact = await bench.contact()
  expect([contact.status, contact.fields]).toEqual(['active', { first_name: 'Ada', agree: 'true' }])
  expect((await work((w) => requireList(w, bench.listId))).fields).toHaveLength(39)
  const at = clock.now().getTime()
  expect((await consents()).consents).toMatchObject([{ formId: id, at }])
  expect(await given()).toEqual([{ at, title: 'form Newsletter' }])
})

test('a field whose column the list has no room for is left out; the consent and the other fields are written', async () => {
  const { id } = await optIn()
  await submit(id)
  await confirm()
  // A form that an older version made may have a field without a column.
  const columns = ['first_name', ...Array.from({ length: 37 }, (_, i) => `column ${i}`)]
  await t.app.sql('update contact_lists set fields = $2 where id = $1', [bench.listId, columns])
  await t.app.sql(`update contacts set fields = '{"first_name": "Ada"}' where list_id = $1`, [bench.listId])
  clock.advance(10 * 60_000)
  await submit(id, 'Eve')
  await confirm()
  const at = clock.now()
  expect((await bench.contact()).fields).toEqual({
    first_name: 'Eve',
    consent_source: 'form Newsletter',
    consent_at: at.toISOString(),
  })
  const { fields } = await work((w) => requireList(w, bench.listId))
  expect(fields).toEqual([...columns, 'consent_source', 'consent_at'])
  expect((await consents()).consents).toMatchObject([{}, { formId: id, at: at.getTime() }])
})

test('the row outlives the list, and is deleted by an erasure', async () => {
  const rows = () => t.app.sql('select email from form_consents where account_id = $1', [bench.account.id])
  const { id } = await optIn()
  await submit(id)
  await confirm()
  await work((w) => leaveList(w, bench.listId, email))
  expect(await rows()).toEqual([{ email }])
  clock.advance(10 * 60_000)
  await submit(id)
  await confirm()
  expect(await rows()).toHaveLength(2)
  await work((w) => eraseContact(w, email, { dryRun: false }))
  expect(await rows()).toEqual([])
})
