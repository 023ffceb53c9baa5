import { pino } from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadRoutes } from '../../src/app/features.ts'
import { type Contact, createList, writeContacts } from '../../src/contacts/contacts.ts'
import { renameList } from '../../src/contacts/lists/lists.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { dealHistory, listPipelines, type PipelineView, showDeal } from '../../src/deals/deals.ts'
import { buildServer } from '../../src/http/server.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'

let account: TestAccount
let stranger: TestAccount
let pipeline: PipelineView
let listId: string

const email = 'ada@example.org'

const t = useApp()
beforeEach(async () => {
  account = await t.account()
  stranger = await t.account()
  listId = await addContact(account, 'Customers', email)
  pipeline = await t.app.work(account.id, 'cli:test', async (work) => (await listPipelines(work))[0]!)
  await ok(subscribe(account))
})

const addContact = (owner: TestAccount, list: string, address: string) =>
  t.app.work(owner.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: list })
    await writeContacts(work, id, [{ email: address, fields: {} }], new Map())
    return id
  })

const subscribe = (owner: TestAccount) =>
  t.request('POST', '/webhooks', {
    key: owner.key,
    body: { url: 'https://example.com/hook', events: ['deal.created', 'deal.stage_changed'] },
  })

const post = (body: unknown, headers: Record<string, string> = {}, key = account.key) =>
  t.request('POST', '/deals', { key, body, headers })
const patch = (id: string, body: unknown, key = account.key) => t.request('PATCH', `/deals/${id}`, { key, body })
const create = async (body: object = {}) => (await post({ title: 'Seats', email, ...body })).body.deal
const stage = (name: string) => pipeline.stages.find((one) => one.name === name)!
const history = (id: string) => t.app.work(account.id, 'cli:test', (work) => dealHistory(work, id))
const types = async () => (await t.events(account.id)).map((event) => event.type)
const contacts = async (address = email): Promise<Contact[]> =>
  (await t.request('GET', `/contacts?email=${address}`, { key: account.key })).body.contacts

/** Returns all rows that belong to deals. */
const written = async () =>
  Promise.all(
    ['deals', 'deal_history', 'events', 'deliveries'].map((table) => t.app.sql(`select * from ${table} order by 1, 2`)),
  )
const expectNothingWritten = async (run: () => Promise<unknown>) => {
  const before = await written()
  await run()
  expect(await written()).toEqual(before)
}

describe('POST /deals', () => {
  test('creates a deal in the default pipeline’s first open stage, with its event and its history', async () => {
    const { status, body } = await post({ title: ' Seats ', email: ' ADA@example.org' })
    const [contact] = await contacts()
    expect(status).toBe(201)
    expect(body).toEqual({
      deal: {
        id: expect.stringMatching(/^deal_/),
        title: 'Seats',
        value: 0,
        currency: 'USD',
        pipelineId: pipeline.id,
        stageId: stage('New').id,
        stage: 'New',
        status: 'open',
        source: 'api',
        listId,
        rowId: contact!.rowId,
        email,
      },
      created: true,
    })
    expect(await t.events(account.id)).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        type: 'deal.created',
        createdAt: expect.any(Number),
        data: { deal: body.deal },
      },
    ])
    expect(await history(body.deal.id)).toEqual([
      { actor: `key:${account.keyId}`, from: null, to: stage('New').id, at: expect.any(Number) },
    ])
  })

  test('the first deal of an account creates its default pipeline', async () => {
    await addContact(stranger, 'Customers', email)
    const { body } = await ok(post({ title: 'First', email }, {}, stranger.key))
    expect(body.deal).toMatchObject({ stage: 'New', status: 'open' })
    const { pipelines } = (await t.request('GET', '/pipelines', { key: stranger.key })).body
    expect(pipelines).toHaveLength(1)
    expect(pipelines[0]).toMatchObject({ id: body.deal.pipelineId, isDefault: true })
  })

  test.each([
    [1.005, 1.01],
    ['1.005', 1.01],
    [1e3, 1000],
    ['0', 0],
    [0.1, 0.1],
    ['9999999999.99', 9_999_999_999.99],
    [1234.5, 1234.5],
  ])('value %j is rounded to cents and stored as %d', async (given, value) => {
    const { status, body } = await post({ title: 'Seats', email, value: given })
    expect([status, body.deal.value]).toEqual([201, value])
    expect((await patch(body.deal.id, { title: 'Again' })).body.deal.value).toBe(value)
  })

  test('amounts are decimals, not binary fractions: cents add up in the database', async () => {
    for (const value of [0.1, 0.2, '0.7']) await create({ value })
    const [row] = await t.app.sql('select sum(value)::text as sum from deals where account_id = $1', [account.id])
    expect(row).toEqual({ sum: '1.00' })
  })

  const bad: [string, unknown][] = [
    ['no title', { email }],
    ['an empty title', { title: ' ', email }],
    ['a title of 201 characters', { title: 'x'.repeat(201), email }],
    ['a title with NUL', { title: 'a\0b', email }],
    ['value -1', { title: 'x', email, value: -1 }],
    ['value "abc"', { title: 'x', email, value: 'abc' }],
    ['value "NaN"', { title: 'x', email, value: 'NaN' }],
    ['value "1e3"', { title: 'x', email, value: '1e3' }],
    ['value null', { title: 'x', email, value: null }],
    ['value true', { title: 'x', email, value: true }],
    ['value of 12 digits', { title: 'x', email, value: 123_456_789_012 }],
    ['a value that rounds over the limit', { title: 'x', email, value: '9999999999.995' }],
    ['currency us', { title: 'x', email, currency: 'us' }],
    ['currency US1', { title: 'x', email, currency: 'US1' }],
    ['currency €€€', { title: 'x', email, currency: '€€€' }],
    ['no contact', { title: 'x' }],
    ['a list without a row', { title: 'x', listId: 'lst_1' }],
    ['a row without a list', { title: 'x', rowId: 'row_1' }],
    ['a malformed email', { title: 'x', email: 'ada' }],
    ['an email of 321 characters', { title: 'x', email: `${'a'.repeat(310)}@example.org` }],
    ['a stageId that is a number', { title: 'x', email, stageId: 1 }],
    ['an array', []],
    ['malformed JSON', '{'],
  ]
  test.each(bad)('%s returns 400 with one sentence, and writes nothing', async (_, body) => {
    await expectNothingWritten(async () => {
      const reply = await post(body)
      expect(reply.status).toBe(400)
      expect(reply.body).toEqual({ error: expect.any(String) })
    })
  })

  test('a title of 200 characters is accepted, and the currency is stored in upper case', async () => {
    expect(await create({ title: 'x'.repeat(200), currency: 'eur' })).toMatchObject({ currency: 'EUR' })
  })

  test('an email names the most recently updated list that has it, unless listId is given', async () => {
    const other = await addContact(account, 'Newsletter', email)
    expect((await create()).listId).toBe(other)
    await ok(t.request('POST', '/contacts', { key: account.key, body: { listId, email, fields: { city: 'Faro' } } }))
    expect((await create()).listId).toBe(listId)
    expect((await create({ listId: other })).listId).toBe(other)
    await t.app.work(account.id, 'cli:test', (work) => renameList(work, other, 'Newest'))
    expect((await create()).listId).toBe(other)
    await ok(t.request('POST', '/contacts', { key: account.key, body: { listId, email: 'bo@people.example' } }))
    expect((await create()).listId).toBe(listId)
    const save = (list: string, city: string) =>
      ok(t.request('POST', '/contacts', { key: account.key, body: { listId: list, email, fields: { city } } }))
    await save(other, 'Lagos')
    // Identical data is no update.
    await save(listId, 'Faro')
    expect((await create()).listId).toBe(other)
    await save(listId, 'Porto')
    expect((await create()).listId).toBe(listId)
  })

  test('of a deleted list, it names the most recently updated list that has its contact, or stays if there is none', async () => {
    const left = await addContact(account, 'Left', email)
    await t.app.work(account.id, 'cli:test', (work) =>
      writeContacts(work, left, [{ email: 'bo@people.example', fields: {} }], new Map()),
    )
    const other = await addContact(account, 'Others', email)
    const inLeft = await create({ listId: left })
    const [inOther, alone] = [await create({ listId: other }), await create({ email: 'bo@people.example' })]
    const before = [await types(), await history(inLeft.id)]
    await deleteList(t.app, account.id, left, { actor: 'cli:test' })
    const shown = (id: string) => t.app.work(account.id, 'cli:test', (work) => showDeal(work, id))
    expect(await shown(inLeft.id)).toEqual({ ...inLeft, listId: other })
    expect([await shown(inOther.id), await shown(alone.id)]).toEqual([inOther, alone])
    expect([await types(), await history(inLeft.id)]).toEqual(before)
  })

  test('listId and rowId name a contact without its email', async () => {
    const [contact] = await contacts()
    const { body } = await ok(post({ title: 'By row', listId, rowId: contact!.rowId }))
    expect(body.deal).toMatchObject({ listId, rowId: contact!.rowId, email })
  })

  test('an unknown contact, or one of another account, returns 404 and writes nothing', async () => {
    const foreignList = await addContact(stranger, 'Theirs', 'theirs@example.org')
    const [contact] = await contacts()
    const calls = [
      { email: 'nobody@example.org' },
      { email: 'theirs@example.org' },
      { email, listId: foreignList },
      { email, listId: 'lst_none' },
      { email, rowId: 'row_none' },
      { listId: foreignList, rowId: contact!.rowId },
      { listId, rowId: 'row_none' },
    ]
    await expectNothingWritten(async () => {
      for (const call of calls) {
        const { status, body } = await post({ title: 'x', ...call })
        expect(status, JSON.stringify(call)).toBe(404)
        const isListUnknown = 'listId' in call && call.listId !== listId
        expect(body.error).toBe(`There is no such ${isListUnknown ? 'list' : 'contact'}`)
      }
    })
  })

  test('a stage determines the pipeline; a pipeline without a stage means its first open stage', async () => {
    const other = await newPipeline('Partners', ['Lost:lost', 'Talk:open', 'Signed:won'])
    expect(await create({ pipelineId: other.id })).toMatchObject({
      pipelineId: other.id,
      stage: 'Talk',
      status: 'open',
    })
    expect(await create({ stageId: other.stages[2]!.id })).toMatchObject({
      pipelineId: other.id,
      stage: 'Signed',
      status: 'won',
    })
    expect(await create({ pipelineId: pipeline.id, stageId: stage('Lost').id })).toMatchObject({ status: 'lost' })
  })

  test('unknown and foreign pipelines and stages return 404, a stage of another pipeline than the given one 400', async () => {
    const other = await newPipeline('Partners', ['Talk:open'])
    const theirs = await t.app.work(stranger.id, 'cli:test', async (work) => (await listPipelines(work))[0]!)
    const own = pipeline.id
    const talk = other.stages[0]!.id
    const cases: [object, number][] = [
      [{ pipelineId: 'pipe_none' }, 404],
      [{ pipelineId: theirs.id }, 404],
      [{ stageId: 'stg_none' }, 404],
      [{ stageId: theirs.stages[0]!.id }, 404],
      [{ pipelineId: own, stageId: theirs.stages[0]!.id }, 404],
      [{ pipelineId: theirs.id, stageId: theirs.stages[0]!.id }, 404],
      [{ pipelineId: 'pipe_none', stageId: talk }, 404],
      [{ pipelineId: own, stageId: talk }, 400],
      // 400 takes precedence over 404.
      [{ pipelineId: own, stageId: talk, email: 'nobody@example.org' }, 400],
    ]
    await expectNothingWritten(async () => {
      for (const [names, status] of cases) {
        expect((await post({ title: 'x', email, ...names })).status, JSON.stringify(names)).toBe(status)
      }
    })
  })

  test('an invalid key returns 401 before any other error', async () => {
    expect((await post('{', {}, 'svc_live_none')).status).toBe(401)
    expect((await patch('deal_none', '{', 'svc_live_none')).status).toBe(401)
    expect((await t.request('GET', '/pipelines')).status).toBe(401)
  })
})

const newPipeline = async (name: string, stages: string[]): Promise<PipelineView> => {
  const { createPipeline } = await import('../../src/deals/deals.ts')
  return t.app.work(account.id, 'cli:test', (work) =>
    createPipeline(work, {
      name,
      stages: stages.map((text) => ({ name: text.split(':')[0]!, kind: text.split(':')[1] as 'open' })),
    }),
  )
}

describe('Idempotency-Key', () => {
  const once = (body: unknown, key = 'order-1', caller = account.key) => post(body, { 'idempotency-key': key }, caller)

  test('the same key returns the first deal with 200, created false and Idempotent-Replayed, whatever the body', async () => {
    const first = await once({ title: 'Seats', email })
    expect([first.status, first.body.created, first.headers['idempotent-replayed']]).toEqual([201, true, undefined])
    await expectNothingWritten(async () => {
      for (const body of [
        { title: 'Seats', email },
        { title: 'Else', email: 'nobody@example.org' },
        { value: -1 },
        [],
      ]) {
        const again = await once(body)
        expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true'])
        expect(again.body).toEqual({ deal: first.body.deal, created: false })
      }
    })
  })

  test('the replay shows the current deal', async () => {
    const { deal } = (await once({ title: 'Seats', email })).body
    await ok(patch(deal.id, { title: 'Chairs', stageId: stage('Won').id }))
    expect((await once({})).body.deal).toMatchObject({ id: deal.id, title: 'Chairs', status: 'won' })
  })

  test('a key belongs to its account', async () => {
    await addContact(stranger, 'Theirs', email)
    const mine = await once({ title: 'Mine', email })
    const theirs = await once({ title: 'Theirs', email }, 'order-1', stranger.key)
    expect([mine.status, theirs.status]).toEqual([201, 201])
    expect(theirs.body.deal.title).toBe('Theirs')
  })

  test('a refused call frees the key', async () => {
    expect((await once({ title: 'x'.repeat(201), email })).status).toBe(400)
    expect((await once({ title: 'x', email: 'nobody@example.org' })).status).toBe(404)
    expect((await once({ title: 'x', email })).body.created).toBe(true)
  })

  test('a key of 200 characters is accepted; one of 201 or 0 characters returns 400 and writes nothing', async () => {
    expect((await once({ title: 'x', email }, 'k'.repeat(200))).status).toBe(201)
    await expectNothingWritten(async () => {
      expect((await once({ title: 'x', email }, 'k'.repeat(201))).status).toBe(400)
      expect((await once({ title: 'x', email }, '')).status).toBe(400)
    })
  })

  test('a hundred concurrent calls over two apps create one deal and one event', async () => {
    const second = await openApp(readConfig(t.env))
    const other = await buildServer(second, await loadRoutes(), pino({ level: 'silent' }))
    const viaOther = () =>
      other.fastify.inject({
        method: 'POST',
        url: '/api/v1/deals',
        headers: { authorization: `Bearer ${account.key}`, 'idempotency-key': 'storm' },
        payload: { title: 'Storm', email },
      })
    const replies = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        if (i % 2) return once({ title: 'Storm', email }, 'storm')
        const reply = await viaOther()
        return { status: reply.statusCode, body: reply.json(), headers: reply.headers }
      }),
    )
    await other.drain()
    await second.close()
    expect(replies.filter(({ status, body }) => status === 201 && body.created)).toHaveLength(1)
    const losers = replies.filter(({ status, body }) => status === 200 && body.created === false)
    expect(losers).toHaveLength(99)
    expect(losers.every(({ headers }) => headers['idempotent-replayed'] === 'true')).toBe(true)
    expect(new Set(replies.map(({ body }) => body.deal.id)).size).toBe(1)
    expect(await types()).toEqual(['deal.created'])
    expect(await history(replies[0]!.body.deal.id)).toHaveLength(1)
  })
})

describe('PATCH /deals/{id}', () => {
  test('another stage moves the deal, with its status, its history and one event with fromStageId', async () => {
    const deal = await create()
    const { status, body } = await patch(deal.id, { stageId: stage('Won').id })
    expect(status).toBe(200)
    expect(body).toEqual({
      deal: { ...deal, stageId: stage('Won').id, stage: 'Won', status: 'won' },
      moved: true,
    })
    const [, event] = await t.events(account.id)
    expect(event).toMatchObject({
      type: 'deal.stage_changed',
      data: { deal: body.deal, fromStageId: stage('New').id },
    })
    expect((await history(deal.id)).map(({ from, to }) => [from, to])).toEqual([
      [null, stage('New').id],
      [stage('New').id, stage('Won').id],
    ])
  })

  test('its own stage is not a move: moved is false, without event and history', async () => {
    const deal = await create()
    await expectNothingWritten(async () => {
      const { body } = await ok(patch(deal.id, { stageId: deal.stageId }))
      expect(body).toEqual({ deal, moved: false })
    })
  })

  test('title, value and currency change without an event; identical values write nothing', async () => {
    const deal = await create()
    const change = { title: 'Chairs', value: '12.345', currency: 'eur', stageId: deal.stageId }
    const { body } = await ok(patch(deal.id, change))
    expect(body).toEqual({ deal: { ...deal, title: 'Chairs', value: 12.35, currency: 'EUR' }, moved: false })
    await expectNothingWritten(() => ok(patch(deal.id, change)))
    expect(await types()).toEqual(['deal.created'])
  })

  const bad: [string, unknown][] = [
    ['an empty body', {}],
    ['unknown properties only', { status: 'won' }],
    ['one bad field among good ones', { title: 'Good', value: 'abc', currency: 'EUR' }],
    ['a title of 201 characters', { title: 'x'.repeat(201) }],
    ['a null title', { title: null }],
    ['value -1', { value: -1 }],
    ['currency us', { currency: 'us' }],
    ['an unknown stage beside a good title', { title: 'Good', stageId: 'stg_none' }],
    ['an empty stage', { stageId: '' }],
    ['no object', []],
  ]
  test.each(bad)('%s returns 400, and nothing is written', async (_, body) => {
    const deal = await create()
    await expectNothingWritten(async () => expect((await patch(deal.id, body)).status).toBe(400))
  })

  test('a stage of another pipeline or account returns 400', async () => {
    const deal = await create()
    const other = await newPipeline('Partners', ['Talk:open'])
    const theirs = await t.app.work(stranger.id, 'cli:test', async (work) => (await listPipelines(work))[0]!)
    await expectNothingWritten(async () => {
      const replies = [
        await patch(deal.id, { title: 'Good', stageId: other.stages[0]!.id }),
        await patch(deal.id, { title: 'Good', stageId: theirs.stages[0]!.id }),
        await patch(deal.id, { title: 'Good', stageId: 'stg_none' }),
      ]
      expect(replies.map(({ status }) => status)).toEqual([400, 400, 400])
      expect(new Set(replies.map(({ body }) => body.error)).size).toBe(1)
    })
  })

  test('400 takes precedence over 404', async () => {
    expect((await patch('deal_none', {})).status).toBe(400)
    expect((await patch('deal_none', { title: 'x' })).status).toBe(404)
  })

  test('concurrent moves of one deal are serialised, each with its history entry and its event', async () => {
    const deal = await create()
    const names = ['Qualified', 'Proposal', 'Won', 'Lost']
    const moves = await Promise.all(
      Array.from({ length: 24 }, (_, i) => patch(deal.id, { stageId: stage(names[i % 4]!).id })),
    )
    expect(moves.map(({ status }) => status)).toEqual(Array(24).fill(200))
    const moved = moves.filter(({ body }) => body.moved).length
    const rows = await history(deal.id)
    expect(rows).toHaveLength(moved + 1)
    for (const [i, row] of rows.entries()) expect(row.from).toBe(i === 0 ? null : rows[i - 1]!.to)
    const events = (await t.events(account.id)).filter(({ type }) => type === 'deal.stage_changed')
    expect(events).toHaveLength(moved)
    const [row] = await t.app.sql('select stage_id, status from deals where id = $1', [deal.id])
    const last = pipeline.stages.find(({ id }) => id === rows.at(-1)!.to)!
    expect(row).toEqual({ stage_id: last.id, status: last.kind })
  })

  test('history keeps its order when the clock goes back', async () => {
    const deal = await create()
    const earlier = await openApp(readConfig(t.env), { now: () => new Date('2001-01-01T00:00:00Z') })
    const { changeDeal } = await import('../../src/deals/deals.ts')
    await earlier.work(account.id, 'cli:ada', (work) => changeDeal(work, deal.id, { stageId: stage('Won').id }))
    await earlier.close()
    const rows = await history(deal.id)
    expect(rows.map(({ actor, to }) => [actor, to])).toEqual([
      [`key:${account.keyId}`, stage('New').id],
      ['cli:ada', stage('Won').id],
    ])
    expect(rows[1]!.at).toBeLessThan(rows[0]!.at)
  })
})
