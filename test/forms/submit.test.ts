import { beforeEach, describe, expect, test } from 'vitest'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { noteContention } from '../../src/contacts/write/contention.ts'
import { honeypotName, requireSubmission, submitForm, updateForm } from '../../src/forms/forms.ts'
import { ok } from '../support/app.ts'
import { costOf } from '../support/cost.ts'
import { holdContactsTicket, untilLocked } from '../support/database.ts'
import { type FormBench, formBench, urlencoded, useForms } from './support.ts'

let bench: FormBench

const t = useForms()
beforeEach(async () => {
  bench = await formBench(t)
})

const postJson = (id: string, body: unknown, headers: Record<string, string> = {}) =>
  t.request('POST', `/f/${id}`, { body, headers })
const postForm = (id: string, fields: Record<string, string>, headers?: Record<string, string>) =>
  t.request('POST', `/f/${id}`, urlencoded(fields, headers))
const ada = { email: 'ada@acme.test', first_name: 'Ada' }

describe('a form without double opt-in', () => {
  test('a browser is redirected to the thank-you page by 303, and the contact is active, verified and has its fields', async () => {
    const { id } = await bench.form({ name: 'Newsletter' })
    const reply = await postForm(id, { ...ada, email: '  ADA@Acme.test ' })
    expect([reply.status, reply.headers.location]).toEqual([303, `/f/${id}/thanks`])
    const thanks = await t.request('GET', `/f/${id}/thanks`)
    expect(thanks.status).toBe(200)
    expect(thanks.body).toContain('You are signed up for Newsletter')
    expect(await bench.contact()).toMatchObject({
      listId: bench.listId,
      email: 'ada@acme.test',
      status: 'active',
      fields: { first_name: 'Ada' },
      verification: { status: 'valid' },
    })
    expect(await bench.mails()).toEqual([])
  })

  test('a submission fires contact.created, form.submitted with the contact, and lead.new with source signup-form, and nothing else', async () => {
    const { id, name } = await bench.form()
    const reply = await postJson(id, ada)
    expect([reply.status, reply.body]).toEqual([200, { ok: true, status: 'active' }])
    const contact = await bench.contact()
    expect(await bench.events()).toEqual({
      'contact.created': { contact },
      'form.submitted': {
        source: 'signup-form',
        form: { id, name },
        fields: { first_name: 'Ada' },
        contact,
        submittedAt: contact.updatedAt,
      },
      'lead.new': { contact, source: 'signup-form', form: { id, name } },
    })
    expect(await bench.types()).toHaveLength(3)
  })

  test('a contact of the list is not a new lead: changed fields fire contact.updated, and form.submitted fires too', async () => {
    const { id } = await bench.form({ fields: ['first_name', 'city'] })
    await ok(postJson(id, ada))
    await ok(postJson(id, { email: 'ada@acme.test', first_name: ' ', city: 'Rome' }))
    await ok(postJson(id, ada))
    expect(await bench.types()).toEqual(
      'contact.created contact.updated form.submitted form.submitted form.submitted lead.new'.split(' '),
    )
    expect(await bench.contact()).toMatchObject({ fields: { first_name: 'Ada', city: 'Rome' } })
  })

  test('a submission fills empty fields of a known contact, and never changes others', async () => {
    const { id } = await bench.form({ fields: ['first_name', 'city'] })
    await ok(postJson(id, ada))
    const reply = await postJson(id, { email: 'ada@acme.test', first_name: 'Mallory', city: 'Rome' })
    expect([reply.status, reply.body]).toEqual([200, { ok: true, status: 'active' }])
    expect((await bench.contact()).fields).toEqual({ first_name: 'Ada', city: 'Rome' })
    await ok(postJson(id, { email: 'ada@acme.test', first_name: 'Mallory', city: 'Oslo' }))
    expect((await bench.contact()).fields).toEqual({ first_name: 'Ada', city: 'Rome' })
    expect((await bench.types()).filter((type) => type === 'contact.updated')).toHaveLength(1)
  })

  test('twenty concurrent submissions make one contact and one new lead', async () => {
    const { id } = await bench.form()
    const replies = await Promise.all(Array.from({ length: 20 }, () => postJson(id, ada)))
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
    const types = await bench.types()
    expect(types.filter((type) => type !== 'form.submitted')).toEqual(['contact.created', 'lead.new'])
  })

  test('values without a field of the form are ignored: not stored and in no event', async () => {
    const { id } = await bench.form()
    await ok(postJson(id, { ...ada, role: 'admin', status: 'x', fields: { listId: 'y' } }))
    expect((await bench.contact()).fields).toEqual({ first_name: 'Ada' })
    expect((await bench.events())['form.submitted'].fields).toEqual({ first_name: 'Ada' })
    const { body } = await ok(t.request('GET', '/lists', { key: bench.account.key }))
    expect(body.lists[0]!.fields).toEqual(['first_name'])
  })

  test('the fields may be in an object, as in the API', async () => {
    const { id } = await bench.form()
    await ok(postJson(id, { email: 'ada@acme.test', fields: { first_name: 'Ada' } }))
    expect((await bench.contact()).fields).toEqual({ first_name: 'Ada' })
  })
})

describe('refusals', () => {
  const every = [
    { name: 'age', type: 'number' },
    { name: 'work', type: 'email', label: 'Work email' },
    { name: 'plan', type: 'select', options: ['Small', 'Large'] },
    { name: 'terms', type: 'checkbox', required: true, label: 'I agree' },
    { name: 'about', type: 'textarea' },
    { name: 'first_name', required: true },
  ]
  const good = { email: 'ada@acme.test', first_name: 'Ada', terms: true }

  test.each([
    [{ email: 'nobody' }, 'email must be an email address'],
    [{ email: '' }, 'email is required'],
    [{ email: undefined }, 'email is required'],
    [{ email: ['a@acme.test'] }, 'email is required'],
    [{ email: 'a\u0000@acme.test' }, 'email must be an email address'],
    [{ first_name: '  ' }, 'first_name is required'],
    [{ first_name: null }, 'first_name is required'],
    [{ first_name: 'x\u0000' }, 'first_name must not contain NUL characters or broken Unicode'],
    [{ first_name: '\ud800' }, 'first_name must not contain NUL characters or broken Unicode'],
    [{ first_name: 'x'.repeat(1_001) }, 'first_name must be at most 1,000 characters'],
    [{ about: 'x'.repeat(10_001) }, 'about must be at most 10,000 characters'],
    [{ age: 'ten' }, 'age must be a number'],
    [{ work: 'ada' }, 'work must be an email address'],
    [{ plan: 'small' }, 'plan must be one of its options'],
    [{ terms: false }, 'terms must be ticked'],
    [{ terms: undefined }, 'terms must be ticked'],
  ])('JSON: %j returns 400 with one sentence that names the field, and changes nothing', async (change, error) => {
    const { id } = await bench.form({ fields: every })
    const reply = await postJson(id, { ...good, ...change })
    expect([reply.status, reply.body]).toEqual([400, { error }])
    expect([await bench.contact(), await bench.types()]).toEqual([undefined, []])
  })

  test('fields of all types are stored as text, a checkbox as true or false', async () => {
    const { id } = await bench.form({ fields: every })
    await ok(postJson(id, { ...good, age: 36, work: 'ADA@work.test', plan: 'Large', about: 'a\r\nb' }))
    const whole = { age: '36', work: 'ada@work.test', plan: 'Large', terms: 'true', about: 'a\nb', first_name: 'Ada' }
    expect((await bench.contact()).fields).toEqual(whole)
    // A script that omits a checkbox leaves it unchanged; a browser omits checkboxes that are not ticked.
    const other = await bench.form({ fields: [{ name: 'news', type: 'checkbox' }] })
    await ok(postJson(other.id, { email: 'ada@acme.test' }))
    expect((await bench.contact()).fields.news).toBeUndefined()
    await ok(postForm(other.id, { email: 'ada@acme.test' }), 303)
    expect((await bench.contact()).fields.news).toBe('false')
  })

  test.each(['[]', '"x"', 'null', '3'])('a JSON body that is not an object (%s) returns 400', async (body) => {
    const { id } = await bench.form()
    const reply = await postJson(id, body)
    expect([reply.status, reply.body]).toEqual([400, { error: 'body must be a JSON object' }])
  })

  test('a number that is infinite for JSON returns 400, and nothing is written', async () => {
    const { id } = await bench.form()
    const reply = await postJson(id, '{"email":"ada@acme.test","first_name":1e400}')
    expect([reply.status, reply.body.error]).toEqual([400, 'first_name must be a number between -1.7e308 and 1.7e308'])
    expect([await bench.contact(), await bench.types()]).toEqual([undefined, []])
  })

  test('malformed JSON returns 400, an unknown form 404, each with exactly { error }', async () => {
    const { id } = await bench.form()
    expect(await postJson(id, '{')).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    for (const unknown of [`${id.slice(0, -3)}zzz`, 'x', '%00', bench.listId]) {
      const reply = await postJson(unknown, ada)
      expect([reply.status, reply.body]).toEqual([404, { error: 'There is no such form' }])
    }
  })

  test('a browser gets the page again with each field’s error and the entered values', async () => {
    const { id } = await bench.form({ fields: every })
    const reply = await postForm(id, { email: '<ada>', first_name: '', about: '</textarea>x', plan: 'Large' })
    expect([reply.status, reply.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8'])
    for (const message of ['Email must be an email address', 'First name is required', 'I agree must be ticked'])
      expect(reply.body).toContain(message)
    expect(reply.body).toContain('value="&lt;ada&gt;"')
    expect(reply.body).toContain('&lt;/textarea&gt;x</textarea>')
    expect(reply.body).toContain('<option value="Large" selected>Large</option>')
    expect([await bench.contact(), await bench.types()]).toEqual([undefined, []])
  })

  test('fields named like properties of Object.prototype work like any other', async () => {
    const names = ['constructor', 'valueOf', 'toString', 'hasOwnProperty']
    const { id } = await bench.form({ fields: names.map((name) => ({ name, required: true })) })
    expect((await t.request('GET', `/f/${id}`)).status).toBe(200)
    const refused = await postForm(id, { email: 'ada@acme.test', valueOf: 'mine' })
    expect(refused.status).toBe(400)
    expect(refused.body).toContain('value="mine"')
    expect(refused.body).not.toMatch(/native code|\[object/)
    expect((await postJson(id, { email: 'ada@acme.test' })).body).toEqual({ error: 'constructor is required' })
    const fields = Object.fromEntries(names.map((name) => [name, `my ${name}`]))
    expect(
      (await postJson(id, `{"__proto__":"x",${JSON.stringify({ email: 'ada@acme.test', ...fields }).slice(1)}`)).status,
    ).toBe(200)
    expect((await bench.contact()).fields).toEqual(fields)
  })

  test('a browser may fill every textarea with characters of any script; a body larger than the fields allow is a 413 page', async () => {
    const { id } = await bench.form({
      fields: [
        { name: 'about', type: 'textarea' },
        { name: 'more', type: 'textarea' },
      ],
    })
    const [about, more] = ['漢'.repeat(10_000), 'ü'.repeat(10_000)]
    expect((await postForm(id, { email: 'ada@acme.test', about, more })).status).toBe(303)
    expect((await bench.contact()).fields).toEqual({ about, more })
    const refused = await postForm(id, { email: 'ada@acme.test', about: '漢'.repeat(10_001) })
    expect([refused.status, refused.body.includes('About must be at most 10,000 characters')]).toEqual([400, true])
    expect((await postForm(id, { email: 'ada@acme.test', about: '漢'.repeat(40_000) })).status).toBe(413)
    expect((await postJson(id, { email: 'ada@acme.test', about: '漢'.repeat(30_000) })).status).toBe(413)
    const short = await bench.form({ fields: ['first_name'] })
    expect((await postForm(short.id, { email: 'ada@acme.test', first_name: 'x'.repeat(80_000) })).status).toBe(413)
    const [cost, many] = await costOf(() =>
      t.request('POST', `/f/${id}`, { ...urlencoded({}), body: 'a&'.repeat(80_000) }),
    )
    expect([many.status, cost < 250 ? 'cheap' : cost]).toEqual([400, 'cheap'])
  })

  test('options with two spaces or quotes can be chosen as browsers post them', async () => {
    const options = ['Large  size', '"x" <y>']
    const { id } = await bench.form({ fields: [{ name: 'plan', type: 'select', options }] })
    const { body } = await ok(t.request('GET', `/f/${id}`))
    expect(body).toContain('<option value="Large  size">')
    expect(body).toContain('<option value="&quot;x&quot; &lt;y&gt;">')
    expect((await postForm(id, { email: 'ada@acme.test', plan: 'Large  size' })).status).toBe(303)
    expect((await bench.contact()).fields).toEqual({ plan: 'Large  size' })
  })

  test('beyond the plan’s contact limit a new address is refused with 409; a known one still joins the list', async () => {
    bench = await formBench(t, 'free')
    const { id } = await bench.form({ doubleOptIn: true })
    await t.app.sql('update accounts set contact_count = 1000 where id = $1', [bench.account.id])
    const reply = await postJson(id, ada)
    expect([reply.status, reply.body]).toEqual([409, { error: "The plan's contact limit is reached" }])
    const page = await postForm(id, ada)
    expect([page.status, page.headers['content-type']]).toEqual([409, 'text/html; charset=utf-8'])
    expect(page.body).not.toContain('plan')
    expect([await bench.contact(), await bench.types(), await bench.mails()]).toEqual([undefined, [], []])
  })

  test('an unknown form, and one whose list is deleted, is a 404 page', async () => {
    const { id } = await bench.form()
    await t.app.sql('delete from contact_lists where id = $1', [bench.listId])
    for (const path of [`/f/${id}`, `/f/${id}/thanks`, '/f/nothing']) {
      const reply = await t.request('GET', path)
      expect([path, reply.status, String(reply.headers['content-type'])]).toEqual([
        path,
        404,
        'text/html; charset=utf-8',
      ])
      expect(reply.body).toContain('There is no form here')
    }
    expect((await postForm(id, ada)).status).toBe(404)
    expect((await postJson(id, ada)).status).toBe(404)
    expect(await bench.types()).toEqual([])
  })
})

test('a filled honeypot is answered as usual and changes nothing', async () => {
  for (const [doubleOptIn, status] of [
    [false, 'active'],
    [true, 'pending'],
  ] as const) {
    const { id } = await bench.form({ doubleOptIn })
    expect((await t.request('GET', `/f/${id}`)).body).toContain(`name="${honeypotName}"`)
    const trapped = { ...ada, [honeypotName]: 'http://spam.example' }
    const [json, page] = [await postJson(id, trapped), await postForm(id, trapped)]
    expect([json.status, json.body]).toEqual([200, { ok: true, status }])
    expect([page.status, page.headers.location]).toEqual([
      303,
      `/f/${id}/thanks${doubleOptIn ? '?status=pending' : ''}`,
    ])
  }
  expect([await bench.contact(), await bench.types(), await bench.mails()]).toEqual([undefined, [], []])
})

describe('CORS', () => {
  const origin = 'https://shop.example'
  const inject = (method: string, id: string, headers: Record<string, string>, payload?: string) =>
    t.server.fastify.inject({ method: method as 'GET', url: `/f/${id}`, headers, ...(payload && { payload }) })
  const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' }
  const json = { 'content-type': 'application/json' }

  test('scripts of the form’s origins may post and read answers and refusals; all answers vary by origin', async () => {
    const { id } = await bench.form({ origins: [`${origin}/`] })
    const preflight = await inject('OPTIONS', id, { origin, ...asks })
    expect(preflight.statusCode).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'content-type',
      vary: 'Origin',
    })
    for (const [body, status] of [
      [JSON.stringify(ada), 200],
      [JSON.stringify({ email: 'x' }), 400],
      ['{"email":', 400],
      [JSON.stringify({ email: 'x'.repeat(70_000) }), 413],
    ] as const) {
      const reply = await inject('POST', id, { origin, ...json }, body)
      expect(reply.headers).toMatchObject({ 'cache-control': 'private, no-store', 'referrer-policy': 'no-referrer' })
      expect([reply.statusCode, reply.headers['access-control-allow-origin'], reply.headers.vary]).toEqual([
        status,
        origin,
        'Origin',
      ])
    }
  })

  test.each(['https://evil.example', 'http://shop.example', 'https://shop.example:8443', 'null'])(
    'any other origin (%s) is not allowed anything',
    async (other) => {
      const { id } = await bench.form({ origins: [origin] })
      const preflight = await inject('OPTIONS', id, { origin: other, ...asks })
      const posted = await inject('POST', id, { origin: other, ...json }, JSON.stringify({ email: 'x' }))
      for (const { headers } of [preflight, posted]) {
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
        expect(headers.vary).toBe('Origin')
      }
    },
  )

  test('a plain HTML form of any site may post', async () => {
    const { id } = await bench.form()
    expect((await postForm(id, ada, { origin: 'https://elsewhere.example' })).status).toBe(303)
  })
})

test('the page of a form forbids caching, indexing and frames, and loads nothing from elsewhere', async () => {
  const { id } = await bench.form({ doubleOptIn: true })
  const reply = await t.request('GET', `/f/${id}`)
  expect(reply.headers).toMatchObject({
    'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src 'sha256-/),
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
    'x-robots-tag': 'noindex',
    'x-frame-options': 'DENY',
  })
  expect(reply.body).not.toMatch(/<script|src=|https?:/)
})

test('an erased contact may sign up again, and is a new lead', async () => {
  const { id } = await bench.form()
  await ok(postJson(id, ada))
  await t.app.work(bench.account.id, 'cli:test', (work) => eraseContact(work, 'ada@acme.test', { dryRun: false }))
  await ok(postJson(id, ada))
  expect((await bench.types()).filter((type) => type === 'lead.new')).toHaveLength(2)
})

test('a form of 40 fields keeps its columns, although other writers fill the list in the meantime', async () => {
  const { id } = await bench.form({ fields: Array.from({ length: 40 }, (_, i) => `f${i}`) })
  const more = t.app.work(bench.account.id, 'cli:test', (work) =>
    writeContacts(work, bench.listId, [{ email: 'b@acme.test', fields: { other: 'x' } }], new Map()),
  )
  await expect(more).rejects.toMatchObject({ kind: 'invalid', message: 'A list can have at most 40 columns' })
  expect((await postJson(id, { email: 'ada@acme.test', f39: 'x' })).status).toBe(200)
  await expect(bench.form({ fields: ['one_more'] })).rejects.toMatchObject({ kind: 'invalid' })
})

test('while writers of new contacts queue, a submission waits in the same queue', async () => {
  const { id } = await bench.form()
  const ticket = await holdContactsTicket(t.app.database, bench.account.id)
  noteContention(bench.account.id)
  const pending = postJson(id, ada)
  await untilLocked(t.app, 1)
  await ticket.release()
  expect((await pending).body).toEqual({ ok: true, status: 'active' })
})

test('a form that is changed while somebody submits: a submission is written as before or as after the change', async () => {
  const { id } = await bench.form({ fields: ['first_name', 'city'] })
  const other = await t.app.work(bench.account.id, 'cli:test', (w) => createList(w, { name: 'Other' }))
  const change = { list: 'Other', fields: ['first_name'], doubleOptIn: true, name: 'Renamed' }
  const submit = (n: number) =>
    t.request('POST', `/f/${id}`, { body: { email: `p${n}@acme.test`, first_name: 'Ada', city: 'Rome' } })
  const [updated, ...answers] = await Promise.all([
    t.app.work(bench.account.id, 'cli:test', (w) => updateForm(w, id, change)),
    ...Array.from({ length: 20 }, (_, n) => submit(n)),
  ])
  expect(updated.listId).toBe(other.id)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const rows = await t.app.sql(
    `select list_id = $2 as "isAfter", status, fields from contacts where account_id = $1 and email like 'p%'`,
    [bench.account.id, other.id],
  )
  expect(rows).toHaveLength(20)
  for (const row of rows) {
    expect([
      { isAfter: false, status: 'active', fields: { first_name: 'Ada', city: 'Rome' } },
      { isAfter: true, status: 'pending', fields: { first_name: 'Ada' } },
    ]).toContainEqual(row)
  }
  expect((await submit(20)).body).toEqual({ ok: true, status: 'pending' })
})

test('what was checked before a field was removed does not bring the field back', async () => {
  const form = await bench.form({ fields: ['first_name', 'city'] })
  const submission = requireSubmission(form, { email: 'ada@acme.test', first_name: 'Ada', city: 'Rome' })
  await t.app.work(bench.account.id, 'cli:test', (w) => updateForm(w, form.id, { fields: ['first_name'] }))
  await submitForm(t.app, { accountId: bench.account.id, actor: 'cli:test' }, form.id, submission)
  expect((await bench.contact()).fields).toEqual({ first_name: 'Ada' })
  expect((await bench.events())['form.submitted'].fields).toEqual({ first_name: 'Ada' })
})
