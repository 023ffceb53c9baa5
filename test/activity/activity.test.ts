import { beforeEach, describe, expect, test } from 'vitest'
import { createKey } from '../../src/accounts/accounts.ts'
import { purgeActivities } from '../../src/activity/activity.purge.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { createList, eraseContact, readTimeline } from '../../src/contacts/contacts.ts'
import { noteContention } from '../../src/contacts/write/contention.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { holdContactsTicket, untilLocked } from '../support/database.ts'
import { useDnsServer } from '../support/dns.ts'
import { day } from '../support/journeys.ts'

let account: TestAccount
let stranger: TestAccount
let listId: string
let clockMs = Date.parse('2026-11-20T08:00:00Z')
const email = 'ada@example.org'

const dns = useDnsServer()
const t = useApp(() => ({ env: { SVC_DNS_SERVERS: dns.address }, now: () => new Date(clockMs) }))
beforeEach(async () => {
  account = await t.account()
  stranger = await t.account()
  listId = await newList(account, 'Customers')
  await add(email)
})

const newList = async (of: TestAccount, name: string) =>
  (await t.app.work(of.id, 'cli:test', (work) => createList(work, { name }))).id
const add = (address: string, to = listId, of = account) =>
  ok(t.request('POST', '/contacts', { key: of.key, body: { listId: to, email: address } }))

/** Each call is at a later time, so that ids are in the order of the calls. */
const post = (body: unknown, headers: Record<string, string> = {}, key = account.key) => {
  clockMs++
  return t.request('POST', '/events', { key, body, headers })
}
const report = (more: object = {}) => post({ name: 'trial.started', email, ...more })
const once = (body: unknown, key = 'order-1', caller = account.key) => post(body, { 'idempotency-key': key }, caller)

const apply = async (changes: object = {}, of = account): Promise<string> => {
  const journey = {
    ...{ name: 'Trial', trigger: { kind: 'event', name: 'trial.started' }, steps: [{ kind: 'delay', for: '1d' }] },
    ...changes,
  }
  return (await t.app.work(of.id, 'cli:test', (work) => applyJourneys(work, [journey])))[0]!.id!
}

interface Row {
  id: string
  email: string
  name: string
  data: object | null
  at: Date
}
const rows = (of = account) =>
  t.app.sql<Row>('select id, email, name, data, at from activities where account_id = $1 order by id', [of.id])
const runs = (of = account) =>
  t.app.sql<{ journeyId: string; listId: string; email: string; context: object }>(
    `select journey_id as "journeyId", list_id as "listId", email, context from journey_runs where account_id = $1 order by id`,
    [of.id],
  )
const emails = async () =>
  (await t.app.sql<{ email: string }>('select email from contacts where account_id = $1 order by 1', [account.id])).map(
    (row) => row.email,
  )

/** Everything that a call can write. */
const written = () =>
  Promise.all(
    ['activities', 'activity_keys', 'journey_runs', 'contacts', 'addresses', 'events'].map((table) =>
      t.app.sql(`select * from ${table} order by 1, 2`),
    ),
  )
const expectNothingWritten = async (run: () => Promise<unknown>) => {
  const before = await written()
  await run()
  expect(await written()).toEqual(before)
}

describe('POST /events', () => {
  test('an event of a known address is recorded, with its data as flat text, and fires no event', async () => {
    const data = { plan: 'pro', seats: 3, trial: true, none: null, nested: { a: 1 }, list: [1] }
    const { status, body, headers } = await report({ email: ' ADA@example.org', data })
    expect([status, headers['idempotent-replayed']]).toEqual([200, undefined])
    expect(body).toEqual({ id: expect.stringMatching(/^act_/), journeys: 0 })
    expect(await rows()).toEqual([
      {
        ...{ id: body.id, email, name: 'trial.started', at: new Date(clockMs) },
        data: { plan: 'pro', seats: '3', trial: 'true', none: '' },
      },
    ])
    expect(await t.events(account.id)).toEqual([])
    expect(await rows(stranger)).toEqual([])
  })

  test('every call without a key is an event of its own', async () => {
    for (let i = 0; i < 2; i++) await ok(report())
    const [first, second] = await rows()
    expect([first!.data, first!.id === second!.id, (await rows()).length]).toEqual([null, false, 2])
  })

  test.each(['a', 'a0', 'cart.abandoned', 'sign-up_2', `a${'b'.repeat(63)}`])('the name %s is valid', async (name) => {
    expect((await report({ name })).status).toBe(200)
    expect(await rows()).toMatchObject([{ name }])
  })

  const fields = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`f${i}`, i]))
  const big = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`f${i}`, 'x'.repeat(9_000)]))
  const bad: [string, unknown, string][] = [
    ['no name', { email }, 'name is required'],
    ['an empty name', { name: '', email }, 'name must be 1 to 64 of a-z'],
    ['a name in upper case', { name: 'Trial', email }, 'name must be'],
    ['a name that begins with a digit', { name: '1st', email }, 'name must be'],
    ['a name with a blank', { name: 'a b', email }, 'name must be'],
    ['a name with a line end', { name: 'a\n', email }, 'name must be'],
    ['a name of 65 characters', { name: 'a'.repeat(65), email }, 'name must be'],
    ['no email', { name: 'a' }, 'email is required'],
    ['a malformed email', { name: 'a', email: 'ada' }, 'email must be an email address'],
    ['a list that is a number', { name: 'a', email, listId: 1 }, 'listId must be a string'],
    ['data that is a text', { name: 'a', email, data: 'plan=pro' }, 'data must be an object'],
    ['data of 101 fields', { name: 'a', email, data: fields(101) }, "can't have more than 100"],
    ['data of more than 64 KB', { name: 'a', email, data: big }, 'at most 64 KB'],
    ['data with NUL', { name: 'a', email, data: { a: 'x\0' } }, 'NUL'],
    [
      'a number that is infinite for JSON',
      `{"name":"a","email":"${email}","data":{"n":1e400}}`,
      'data.n must be a number between',
    ],
    ['an array', [], 'body must be a JSON object'],
  ]
  test.each(bad)('with %s is 400, and nothing is written', async (_, body, error) => {
    await expectNothingWritten(async () => {
      const reply = await post(body)
      expect([reply.status, reply.body.error]).toEqual([400, expect.stringContaining(error)])
    })
  })

  test('an unknown address without listId is 404, and so is an unknown or foreign list; nothing is written', async () => {
    const theirList = await newList(stranger, 'Theirs')
    await add('theirs@example.org', theirList, stranger)
    await apply()
    await expectNothingWritten(async () => {
      const replies = [
        await report({ email: 'nobody@example.org' }),
        await report({ email: 'theirs@example.org' }),
        await report({ listId: theirList }),
        await report({ email: 'new@example.org', listId: 'lst_none' }),
      ]
      expect(replies.map(({ status, body }) => [status, body.error])).toEqual([
        [404, 'There is no such contact'],
        [404, 'There is no such contact'],
        [404, 'There is no such list'],
        [404, 'There is no such list'],
      ])
    })
  })

  test('with listId, an address that is not in the list is added to it first, verified, with its event', async () => {
    const other = await newList(account, 'Other')
    const id = await apply()
    await ok(
      t.request('POST', '/webhooks', {
        key: account.key,
        body: { url: 'https://example.com/hook', event: 'contact.created' },
      }),
    )
    expect((await report({ email: 'New@Example.org', listId: other })).body.journeys).toBe(1)
    // An address that is in another list only.
    expect((await report({ listId: other })).body.journeys).toBe(1)
    expect((await rows()).map((row) => row.email)).toEqual(['new@example.org', email])
    expect((await runs()).map((run) => [run.journeyId, run.listId, run.email])).toEqual([
      [id, other, 'new@example.org'],
      [id, other, email],
    ])
    expect((await t.events(account.id)).map(({ type }) => type)).toEqual(['contact.created', 'contact.created'])
    const [{ status }] = (await t.app.sql(
      `select verification_status as status from addresses where account_id = $1 and email = 'new@example.org'`,
      [account.id],
    )) as [{ status: string | null }]
    expect(status).not.toBeNull()
  })

  test('a new address on a full plan is 409 and nothing is written; an event of a known address is recorded', async () => {
    account = await t.account({ plan: 'free' })
    listId = await newList(account, 'Customers')
    await add(email)
    await t.app.sql('update accounts set contact_count = 1000 where id = $1', [account.id])
    await expectNothingWritten(async () => {
      const refused = await report({ email: 'new@example.org', listId })
      expect(refused).toMatchObject({ status: 409, body: { error: "The plan's contact limit is reached" } })
    })
    expect((await report({ listId })).status).toBe(200)
    expect(await rows()).toHaveLength(1)
  })

  test('while writers of new contacts queue, an event with a new address queues too', async () => {
    const ticket = await holdContactsTicket(t.app.database, account.id)
    noteContention(account.id)
    const pending = report({ email: 'new@example.org', listId })
    await untilLocked(t.app, 1)
    expect((await report()).status).toBe(200)
    await ticket.release()
    expect((await pending).status).toBe(200)
  })

  test('a key needs the scope journeys, and GET /events/sample still the scope webhooks', async () => {
    const keyWith = (scope: 'journeys' | 'webhooks') =>
      t.app.work(account.id, 'cli:test', (work) => createKey(work, { name: scope, scopes: [scope] }))
    const [journeys, webhooks] = [(await keyWith('journeys')).key, (await keyWith('webhooks')).key]
    const sample = async (key: string) => (await t.request('GET', '/events/sample', { key })).status
    const event = async (key: string) => (await post({ name: 'a', email }, {}, key)).status
    expect([await event(journeys), await event(webhooks)]).toEqual([200, 403])
    expect([await sample(journeys), await sample(webhooks)]).toEqual([403, 200])
  })
})

describe('Idempotency-Key', () => {
  test('the same key answers the first result with Idempotent-Replayed, whatever the body, and writes nothing', async () => {
    await apply({ reentry: 'always' })
    const first = await once({ name: 'trial.started', email })
    expect([first.status, first.body.journeys, first.headers['idempotent-replayed']]).toEqual([200, 1, undefined])
    await expectNothingWritten(async () => {
      for (const body of [
        { name: 'trial.started', email },
        { name: 'else', email: 'nobody@example.org' },
        { name: 'trial.started', email: 'new@example.org', listId },
        { name: 1 },
        [],
      ]) {
        const again = await once(body)
        expect([again.status, again.headers['idempotent-replayed']]).toEqual([200, 'true'])
        expect(again.body).toEqual(first.body)
      }
    })
  })

  test('a refused call uses up no key, and keys of another account are others', async () => {
    await add(email, await newList(stranger, 'Theirs'), stranger)
    expect((await once({ name: 'a', email: 'nobody@example.org' })).status).toBe(404)
    const mine = await once({ name: 'a', email })
    const theirs = await once({ name: 'a', email }, 'order-1', stranger.key)
    expect([mine.headers['idempotent-replayed'], theirs.headers['idempotent-replayed']]).toEqual([undefined, undefined])
    expect(mine.body.id).not.toBe(theirs.body.id)
    expect([(await rows()).length, (await rows(stranger)).length]).toEqual([1, 1])
  })

  test('a key of 201 characters is 400', async () => {
    expect((await once({ name: 'a', email }, 'x'.repeat(201))).status).toBe(400)
    expect((await once({ name: 'a', email }, 'x'.repeat(200))).status).toBe(200)
  })

  test('concurrent calls with one key, of one or several API keys and addresses, record one event and start its journeys once', async () => {
    await apply({ reentry: 'always' })
    const { key: other } = await t.app.work(account.id, 'cli:test', (work) => createKey(work, { name: 'other' }))
    const people = Array.from({ length: 6 }, (_, i) => `p${i}@example.org`)
    for (const person of people.slice(0, 3)) await add(person)
    const contacts = await emails()
    for (const round of [1, 2, 3]) {
      const replies = await Promise.all(
        Array.from({ length: 24 }, (_, i) =>
          once({ name: 'trial.started', email: people[i % 6], listId }, `order-${round}`, i % 2 ? account.key : other),
        ),
      )
      expect(new Set(replies.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1)
      expect(replies[0]!.body.journeys).toBe(1)
      expect(replies.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1)
      expect([(await rows()).length, (await runs()).length]).toEqual([round, round])
    }
    // Only a call that recorded its event can have added its address.
    const recorded = (await rows()).map((row) => row.email)
    expect((await emails()).filter((one) => !contacts.includes(one) && !recorded.includes(one))).toEqual([])
  })

  test('concurrent calls with keys of their own each record one event', async () => {
    const keys = Array.from({ length: 40 }, (_, i) => `order-${i}`)
    const calls = [...keys, ...keys].map((key) => once({ name: 'trial.started', email }, key))
    const ids = (await Promise.all(calls)).map(({ body }) => body.id)
    expect(ids.slice(0, 40)).toEqual(ids.slice(40))
    expect((await rows()).map(({ id }) => id).sort()).toEqual([...new Set(ids)].sort())
    expect(new Set(ids).size).toBe(40)
  })
})

describe('journeys', () => {
  test('every enabled journey with the name starts, with the data, and is counted', async () => {
    const [a, b] = [await apply({ name: 'A' }), await apply({ name: 'B' })]
    await apply({ name: 'Disabled', enabled: false })
    await apply({ name: 'Other', trigger: { kind: 'event', name: 'trial.ended' } })
    await apply({ name: 'Else', trigger: { kind: 'api' } })
    await apply({ name: 'Theirs' }, stranger)
    expect((await report({ data: { plan: 'pro' } })).body.journeys).toBe(2)
    const context = { data: { plan: 'pro' } }
    const started = await runs()
    expect(started.map(({ journeyId }) => journeyId).sort()).toEqual([a, b].sort())
    for (const { journeyId, ...run } of started) expect(run).toEqual({ listId, email, context })
    expect(await runs(stranger)).toEqual([])
  })

  test('a journey that its re-entry rule keeps the contact out of is not counted', async () => {
    await apply()
    expect((await report()).body.journeys).toBe(1)
    expect((await report()).body.journeys).toBe(0)
    expect([(await runs()).length, (await rows()).length]).toEqual([1, 2])
  })

  test('without listId the contact of the most recently updated list enters', async () => {
    const other = await newList(account, 'Other')
    clockMs += 1_000
    await add(email, other)
    await apply({ reentry: 'always' })
    await ok(report())
    await ok(report({ listId }))
    expect((await runs()).map((run) => run.listId)).toEqual([other, listId])
  })

  test('concurrent events of many people are each counted for their own', async () => {
    await apply({ name: 'All' })
    await apply({ name: 'Ended', trigger: { kind: 'event', name: 'trial.ended' } })
    const people = Array.from({ length: 30 }, (_, i) => `p${i}@example.org`)
    for (const person of people) await add(person)
    const name = (i: number) => ['trial.started', 'trial.ended', 'other'][i % 3]!
    const calls = [...people, ...people].map((person, i) => report({ email: person, name: name(i) }))
    const counts = (await Promise.all(calls)).map(({ body }) => body.journeys)
    const expected = people.map((_, i) => (i % 3 < 2 ? 1 : 0))
    expect(counts.slice(0, 30).map((n, i) => n + counts[30 + i]!)).toEqual(expected)
    expect(await runs()).toHaveLength(20)
    expect(await rows()).toHaveLength(60)
  })

  test.each([{}, { name: 'Trial' }, { name: '' }, { name: 'a', list: 'x' }])(
    'a trigger with %j is refused',
    async (more) => {
      await expect(apply({ trigger: { kind: 'event', ...more } })).rejects.toMatchObject({ kind: 'invalid' })
    },
  )
})

describe('what is kept', () => {
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const exported = async () => {
    const part = (await t.app.personalData()).find(({ name }) => name === 'reportedEvents')!
    return work((w) => part.read(w, email))
  }

  test('an event stands in the timeline, and in no other person’s', async () => {
    await add('bob@example.org')
    const { id } = (await ok(report())).body
    const at = clockMs
    const entries = async (of: string) =>
      (await work((w) => readTimeline(t.app, w, of, 50))).timeline.filter(({ kind }) => kind === 'event.reported')
    expect(await entries(email)).toEqual([{ at, kind: 'event.reported', title: 'trial.started', id }])
    expect(await entries('bob@example.org')).toEqual([])
  })

  test('an address that leaves its list keeps its events, an erasure deletes them; their keys stay', async () => {
    await add('bob@example.org')
    await ok(report({ email: 'bob@example.org' }))
    const first = await once({ name: 'trial.started', email, data: { plan: 'pro' } })
    await ok(report({ name: 'trial.ended' }))
    expect(await exported()).toEqual([
      { id: first.body.id, name: 'trial.started', at: clockMs - 1, data: { plan: 'pro' } },
      { id: expect.any(String), name: 'trial.ended', at: clockMs },
    ])
    await ok(
      t.request('DELETE', `/lists/${listId}/contacts/${email}` as '/lists/:id/contacts/:email', { key: account.key }),
    )
    expect(await exported()).toHaveLength(2)
    const personalData = await t.app.personalData()
    await work((w) => eraseContact(w, email, { dryRun: false, personalData }))
    expect(await exported()).toEqual([])
    expect((await rows()).map((row) => row.email)).toEqual(['bob@example.org'])
    const again = await once({ name: 'trial.started', email: 'bob@example.org' })
    expect([again.headers['idempotent-replayed'], again.body]).toEqual(['true', first.body])
  })

  test('events are deleted after the retention of messages, in batches; their keys stay', async () => {
    await purgeActivities(t.app, new Date(clockMs + 1))
    const start = clockMs + 1
    const first = await once({ name: 'trial.started', email })
    for (let i = 0; i < 4; i++) await ok(report())
    clockMs += day
    await ok(report())
    expect(await purgeActivities(t.app, new Date(start), { batchSize: 2 })).toBe(0)
    expect(await purgeActivities(t.app, new Date(start + 1), { batchSize: 2 })).toBe(1)
    expect(await purgeActivities(t.app, new Date(start + 5), { batchSize: 2 })).toBe(4)
    expect((await rows()).map(({ at }) => at.getTime())).toEqual([clockMs])
    expect((await once({ name: 'trial.started', email })).body).toEqual(first.body)
    expect(await rows()).toHaveLength(1)
  })

  test('an erasure beside events leaves none of them', async () => {
    await apply()
    for (let round = 0; round < 10; round++) {
      const [one, two] = [`a${round}@example.org`, `b${round}@example.org`]
      await add(one)
      await add(two)
      const erase = () => work((w) => eraseContact(w, one, { dryRun: false }))
      const replies = await Promise.all([
        report({ email: one }),
        erase(),
        report({ email: two }),
        report({ email: one }),
      ])
      expect([replies[0].status, replies[3].status].filter((status) => status !== 200 && status !== 404)).toEqual([])
      expect((await rows()).filter((row) => row.email === one)).toEqual([])
      expect((await rows()).filter((row) => row.email === two)).toHaveLength(1)
      expect((await runs()).filter((run) => run.email === one)).toEqual([])
    }
  })

  test('housekeeping deletes events after SVC_MESSAGE_RETENTION_DAYS, and with 0 none', async () => {
    await ok(report())
    const kept = await rows()
    const keep = (messageRetentionDays: number) =>
      runHousekeeping({ ...t.app, config: { ...t.app.config, messageRetentionDays } }, new AbortController().signal)
    clockMs += 90 * day
    await keep(0)
    await keep(90)
    expect(await rows()).toEqual(kept)
    clockMs++
    await keep(0)
    expect(await rows()).toEqual(kept)
    await keep(90)
    expect(await rows()).toEqual([])
  })
})
