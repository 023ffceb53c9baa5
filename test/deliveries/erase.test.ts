import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { personalData } from '../../src/app/personal-data.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { replayBatch } from '../../src/deliveries/deliveries.replay.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { eventTypes } from '../../src/events/events.ts'
import type { Work } from '../../src/store/work.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { ok, startApp, type TestApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, endPending, eventually, subscribe, tally } from '../support/deliveries.ts'
import { answer, type EngagedAccount, engagedAccount, sendProject, useEngaged } from '../support/engagement.ts'
import { journeyBench } from '../support/journeys.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

const ada = 'ada@people.example'
const longer = 'xada@people.example'

let account: EngagedAccount
let listId: string

const { t, sink } = useEngaged()
beforeEach(async () => {
  account = await engagedAccount(t)
  listId = (await inWork((work) => createList(work, { name: 'People' }))).id
})

const inWork = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)
const erase = (email = ada) => inWork((work) => eraseContact(work, email, { dryRun: false, personalData }))
const post = (path: string, body: object) => t.request('POST', path, { key: account.key, body })
const add = (email: string, fields: object) => post('/contacts', { listId, email, fields })
const stored = async () =>
  JSON.stringify(
    await Promise.all(
      ['events', 'pending_deliveries', 'ended_deliveries'].map((table) =>
        t.app.sql(`select * from ${table} where account_id = $1`, [account.id]),
      ),
    ),
  )

describe('an erased address', () => {
  test('is removed from all events with all data about it; events about other people stay', async () => {
    await ok(add(ada, { first_name: 'Adalind' }))
    await ok(add(longer, { first_name: 'Xavier' }))
    await ok(add(ada, { first_name: 'Adaline' }))
    await ok(post('/deals', { title: 'For Adalind', email: ada }))
    const mail = await sendProject(t, sink, account)
    await ok(answer(t, mail, 'about', { company: 'Adacorp' }))
    const before = await t.events(account.id)
    const about = before.filter((event) => JSON.stringify(event).includes(`"${ada}"`))
    expect(new Set(about.map(({ type }) => type))).toEqual(
      new Set([
        'contact.created',
        'contact.updated',
        'deal.created',
        'interaction.received',
        'form.submitted',
        'lead.new',
      ]),
    )
    await erase()
    const after = await t.events(account.id)
    expect(after).toEqual(before.map((event) => (about.includes(event) ? { ...event, data: {} } : event)))
    expect((await stored()).toLowerCase()).not.toMatch(/"ada@|adalin|adacorp/)
    expect(await stored()).toContain('Xavier')
  })

  test('is also removed from answers to forms that it gave while it was in no list', async () => {
    await ok(answer(t, await sendProject(t, sink, account), 'about', { company: 'Adacorp' }))
    const [other] = [await sendProject(t, sink, account, { to: 'bob@people.example' })]
    await ok(answer(t, other!, 'about', { company: 'Bobcorp' }))
    expect(
      (await t.events<'contact.created' | 'form.submitted'>(account.id)).map(({ type, data }) => [type, data.contact]),
    ).toContainEqual(['form.submitted', null])
    await erase()
    expect(await stored()).not.toMatch(/ada@people|Adacorp/)
    expect((await stored()).match(/Bobcorp/g)).toHaveLength(2)
  })

  test('is removed from the answers of receivers; its pending deliveries are cancelled and not replayed', async () => {
    await ok(add(ada, {}))
    await endPending(t.app, account.id, 'exhausted')
    const attempts = [{ at: 5, status: 500, error: 'answered 500', durationMs: 7, snippet: `no ${ada} here` }]
    await t.app.sql('update ended_deliveries set attempts = $2 where account_id = $1', [
      account.id,
      JSON.stringify(attempts),
    ])
    await ok(add(ada, { plan: 'pro' }))
    await ok(add(longer, {}))
    expect(await tally(t.app, account.id)).toEqual({ exhausted: 1, pending: 2 })
    await erase()
    const rows = await deliveriesOf(t.app, account.id)
    expect(rows.map(({ status }) => status)).toEqual(['exhausted', 'cancelled', 'pending'])
    expect(rows[0]!.attempts).toEqual([{ ...attempts[0], snippet: '' }])
    expect(await stored()).not.toContain(`"${ada}"`)
    const ids = rows.slice(0, 2).map(({ id }) => id)
    const replayed = await inWork((work) => replayBatch(work, { ids }, { startedAt: new Date(), changed: 0 }))
    expect(replayed).toMatchObject({ matched: 2, changed: 0 })
    expect(await tally(t.app, account.id)).toEqual({ exhausted: 1, cancelled: 1, pending: 1 })
  })

  test('is exported with its events and their deliveries, without those of a longer address that contains it', async () => {
    await ok(add(ada, { first_name: 'Adalind' }))
    await ok(add(longer, {}))
    const [event] = await t.events(account.id)
    const [delivery] = await deliveriesOf(t.app, account.id)
    const person = await inWork((work) => readPerson(t.app, work, ada))
    expect(person.events).toEqual([event])
    expect(person.deliveries).toEqual([
      {
        id: delivery!.id,
        eventId: event!.id,
        webhookId: delivery!.webhookId,
        type: 'contact.created',
        status: 'pending',
        body: null,
        attempts: [],
        createdAt: expect.any(Number),
        finishedAt: null,
      },
    ])
    await erase()
    await expect(inWork((work) => readPerson(t.app, work, ada))).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('is not found if only its erasure is left', async () => {
    await ok(add(ada, {}))
    await erase()
    await expect(erase()).rejects.toMatchObject({ kind: 'not_found' })
    expect((await add(ada, {})).status).toBe(201)
    const events = await t.events<'contact.created' | 'contact.updated'>(account.id)
    expect(events.map(({ data }) => data.contact?.email)).toEqual([undefined, ada])
  })
})

describe('an erasure while deliveries run', () => {
  let receiver: Receiver
  let target: TestApp
  beforeAll(async () => {
    receiver = await openReceiver()
    target = await startApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
  })
  afterAll(async () => {
    await target.close()
    await receiver.close()
  })

  test('prevents the second attempt of an event', async () => {
    const { id, key } = await target.account()
    await createWebhook(
      target.app,
      id,
      'cli:test',
      { url: receiver.url, events: [...eventTypes] },
      { createdVia: 'api', trusted: true },
    )
    const list = (await target.app.work(id, 'cli:test', (work) => createList(work, { name: 'L' }))).id
    receiver.always({ status: 500 })
    const stop = new AbortController()
    const running = runDeliveries(target.app, stop.signal)
    await ok(target.request('POST', '/contacts', { key, body: { listId: list, email: ada } }))
    await eventually(() => receiver.requests.length > 0)
    await eventually(async () => (await deliveriesOf(target.app, id))[0]!.attempts.length > 0)
    await target.app.work(id, 'cli:test', (work) => eraseContact(work, ada, { dryRun: false, personalData }))
    await target.app.sql('update delivery_targets set next_due_at = now() where account_id = $1', [id])
    receiver.requests.length = 0
    // The event of another account is due later.
    const other = await target.account()
    await subscribe(target.app, other.id, `${receiver.url}/other`)
    await emitEvents(target.app, other.id)
    await receiver.arrived(1)
    stop.abort()
    await running
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/other'])
    expect(await tally(target.app, id)).toEqual({ cancelled: 1 })
  })

  test('blanks and cancels the calls of journeys, and ends the run', async () => {
    receiver.always({ status: 500, body: 'Adalind is unknown' })
    const bench = await journeyBench(target)
    const leads = await bench.list('Leads')
    const journey = await bench.apply({
      name: 'J',
      trigger: { kind: 'list-added', list: 'Leads' },
      steps: [
        { kind: 'webhook', url: `${receiver.url}/one`, body: { hello: '{{ name }}' } },
        { kind: 'delay', for: '1d' },
      ],
    })
    await bench.add(leads, [ada, longer], { name: 'Adalind' })
    const stop = new AbortController()
    const deliveries = runDeliveries(target.app, stop.signal)
    await bench.drain()
    await eventually(async () =>
      (await deliveriesOf(target.app, bench.account.id)).every(({ attempts }) => attempts.length > 0),
    )
    const person = await bench.work((work) => readPerson(target.app, work, ada))
    expect(person.journeyCalls).toMatchObject([{ status: 'pending', body: { hello: 'Adalind' } }])
    await bench.work((work) => eraseContact(work, ada, { dryRun: false, personalData }))
    stop.abort()
    await deliveries
    const rows = await target.app.sql<{ body: string; status: string; attempts: { snippet: string }[] }>(
      'select body, status, attempts from deliveries where account_id = $1 order by status',
      [bench.account.id],
    )
    expect(rows.map(({ body, status, attempts }) => [status, body, attempts[0]!.snippet])).toEqual([
      ['cancelled', '{ }', ''],
      ['pending', '{"hello":"Adalind"}', 'Adalind is unknown'],
    ])
    expect((await bench.runs(journey)).map(({ status }) => status).sort()).toEqual(['exited', 'waiting'])
  })
})
