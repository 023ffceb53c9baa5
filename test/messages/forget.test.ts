import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { personalData } from '../../src/app/personal-data.ts'
import { ingestBounces } from '../../src/bounces/bounces.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { applyJourneys, triggerJourney } from '../../src/journeys/journeys.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { eventually } from '../support/deliveries.ts'
import { messagesOf, queueMany, sendingAccount, startMail } from '../support/messages.ts'
import { postfix } from '../support/reports.ts'
import { useSink } from '../support/smtp.ts'

const ada = 'ada@people.example'
const bob = 'bob@people.example'

let account: TestAccount
const ends: (() => Promise<void>)[] = []

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.always({})
  sink.mails.length = 0
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const inWork = <T>(run: Parameters<typeof t.app.work<T>>[2], of = account) => t.app.work(of.id, 'cli:test', run)
const contact = (email: string, of = account, list = 'People') =>
  inWork(async (work) => {
    const { id } = await createList(work, { name: `${list} of ${email}` })
    await writeContacts(work, id, [{ email, fields: { name: 'Ada' } }], new Map())
    return id
  }, of)
const queue = async (email: string, count = 1, of = account) =>
  (
    await queueMany(t.app, of.id, count, {
      to: email,
      subject: `Dear ${email}`,
      content: { html: `<p>${email}</p>`, text: email },
    })
  ).map((queued) => ('id' in queued ? queued.id : ''))
const later = 'later@people.example'
/** Sends an email of another account: by then the loop has claimed all that was queued before. */
const queueAfter = async () => {
  const count = sink.mails.length
  await queue(later, 1, await sendingAccount(t))
  await sink.arrived(count + 1)
}
const erase = (email = ada, of = account) =>
  inWork((work) => eraseContact(work, email, { dryRun: false, personalData }), of)
const start = async () => {
  const app = await openApp(readConfig(t.env))
  ends.push(app.close)
  const loop = startMail(app)
  ends.push(loop.stop)
  return loop
}
const person = (email = ada, of = account) => inWork((work) => readPerson(t.app, work, email), of)
const send = async (to: string) =>
  (await t.request('POST', '/send', { key: account.key, body: { to, subject: `Dear ${to}`, html: to, text: to } })).body

describe('an erased address', () => {
  test('is removed from all messages, with their content; the messages’ records stay', async () => {
    await contact(ada)
    await contact(bob)
    const sent = await send(ada)
    sink.next({ refuse: { at: 'data', answer: `554 5.7.1 <${ada.toUpperCase()}>: no` } })
    const failed = await send(ada)
    const others = await send(bob)
    expect(failed.error).toContain(ada.toUpperCase())
    await erase()
    const rows = await t.app.sql<Record<string, unknown>>('select * from messages where account_id = $1 order by id', [
      account.id,
    ])
    expect(rows.map(({ id, status, error }) => [id, status, error])).toEqual([
      [sent.id, 'sent', null],
      [failed.id, 'failed', 'The contact was erased'],
      [others.id, 'sent', null],
    ])
    expect(JSON.stringify(rows.slice(0, 2)).toLowerCase()).not.toContain('ada@')
    expect(rows[2]).toMatchObject({ email: bob, subject: `Dear ${bob}`, html: bob })
  })

  test('gets no queued message: these fail, and those of others are sent', async () => {
    await contact(ada)
    const [waiting] = await queue(ada)
    const [others] = await queue(bob)
    await erase()
    await start()
    await sink.arrived(1)
    await queueAfter()
    expect(sink.mails.map(({ to }) => to)).toEqual([[bob], [later]])
    const rows = await messagesOf(t.app, account.id)
    expect(rows.find(({ id }) => id === waiting)).toEqual({
      id: waiting,
      status: 'failed',
      reason: null,
      error: 'The contact was erased',
      state: null,
    })
    expect(rows.find(({ id }) => id === others)?.status).toBe('sent')
  })

  test('gets a message in flight only once, and its result stays', async () => {
    await contact(ada)
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    sink.always({ until })
    const [id] = await queue(ada)
    const begun = sink.begun
    const loop = await start()
    await eventually(() => sink.begun > begun)
    await erase()
    answer()
    await sink.arrived(1)
    await queueAfter()
    await loop.stop()
    expect(sink.begun).toBe(begun + 2)
    expect(await messagesOf(t.app, account.id)).toMatchObject([{ id, status: 'failed', state: null }])
  })

  test('stays suppressed when it is added again', async () => {
    await contact(ada)
    await inWork((work) => suppressAddresses(work, [ada], 'complained'))
    await erase()
    await contact(ada, account, 'Again')
    expect(await send(ada)).toMatchObject({ status: 'suppressed', reason: 'complained' })
  })

  test('is erased from its messages even if it was in no list; afterwards it is not found', async () => {
    await send(ada)
    expect(await inWork((work) => eraseContact(work, ada, { dryRun: true, personalData }))).toEqual({
      email: ada,
      contacts: 0,
      rejects: 0,
    })
    expect((await person()).messages).toHaveLength(1)
    await erase()
    await expect(erase()).rejects.toMatchObject({ kind: 'not_found' })
    await expect(person()).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('stays in other accounts', async () => {
    const other = await sendingAccount(t)
    await contact(ada)
    await contact(ada, other)
    const [theirs] = await queue(ada, 1, other)
    await erase()
    const [row] = await t.app.sql('select email, status from messages where id = $1', [theirs])
    expect(row).toEqual({ email: ada, status: 'pending' })
    await erase(ada, other)
  })

  test('is not suppressed by a late report', async () => {
    await contact(ada)
    const { id } = await send(ada)
    await erase()
    const ran = await ingestBounces(t.app, Readable.from([Buffer.from(postfix({ id }))]), {
      accountId: null,
      actor: 'cli:test',
    })
    expect(ran).toMatchObject({ read: 1, unmatched: 0 })
    expect(await t.app.sql('select 1 from suppressions where account_id = $1', [account.id])).toEqual([])
  })

  test('keeps its messages if its contact only left a list, or the list was deleted', async () => {
    const listId = await contact(ada)
    await queue(ada)
    await deleteList(t.app, account.id, listId, { actor: 'cli:test' })
    expect(await messagesOf(t.app, account.id)).toMatchObject([{ status: 'pending', state: 'queued' }])
    await erase()
  })
})

describe('all personal data of an address', () => {
  test('is one object with a list for each feature, without data of other addresses and accounts', async () => {
    const other = await sendingAccount(t)
    await contact(ada, other)
    await send(bob)
    const listId = await contact(ada)
    const sent = await send(ada)
    await inWork((work) => suppressAddresses(work, [ada], 'unsubscribed'))
    await ok(t.request('GET', `/contacts?email=${ada}`, { key: account.key }))
    const { deal } = await inWork((work) =>
      createDeal(work, NewDeal.parse({ title: 'T', email: ada }), { source: 'api' }),
    )
    const journey = { name: 'J', trigger: { kind: 'api' }, steps: [{ kind: 'delay', for: '1d' }] }
    const [made] = await inWork((work) => applyJourneys(work, [journey]))
    await triggerJourney(t.app, { accountId: account.id, actor: 'cli:test', by: 'api' }, made!.id!, {
      listId,
      email: ada,
    })
    await ingestBounces(t.app, Readable.from([Buffer.from(postfix({ id: sent.id }))]), {
      accountId: null,
      actor: 'cli:test',
    })
    const held = await person()
    expect(Object.keys(held)).toEqual([
      'email',
      'contacts',
      'verification',
      'messages',
      'messagesNaming',
      'results',
      'suppressions',
      'interactions',
      'leadScore',
      'reportedEvents',
      'bookings',
      'payments',
      'signups',
      'consents',
      'submittedForms',
      'deals',
      'journeyRuns',
      'journeys',
      'journeysFrom',
      'journeyCalls',
      'enrolments',
      'finishedLessons',
      'completedCourses',
      'registrations',
      'findings',
      'importRejects',
      'accessLog',
      'segments',
      'broadcasts',
      'broadcastsFrom',
      'senders',
      'sendersNaming',
      'bindingsFrom',
      'events',
      'deliveries',
    ])
    expect(held).toMatchObject({
      email: ada,
      contacts: [{ email: ada, listId, fields: { name: 'Ada' } }],
      verification: { status: 'invalid', reasons: ['hard_bounced'] },
      messages: [
        { id: sent.id, to: ada, html: ada, status: 'sent', reports: [{ kind: 'hard', at: expect.any(Number) }] },
      ],
      suppressions: [{ reason: 'bounced' }, { reason: 'unsubscribed', createdAt: expect.any(Number) }],
      deals: [{ id: deal.id, email: ada }],
      journeyRuns: [{ email: ada, journeyId: made!.id }],
      findings: [{ finding: 'hard_bounced', createdAt: expect.any(Number) }],
      importRejects: [],
      accessLog: [{ actor: `key:${account.keyId}`, found: 1 }],
    })
    expect(JSON.stringify(held)).not.toContain(bob)
  })

  test('is not found if there is none', async () => {
    await expect(person('nobody@people.example')).rejects.toMatchObject({ kind: 'not_found' })
  })
})

test('queued messages of a deleted account are not sent', async () => {
  await queue(ada, 3)
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [account.id])
  await start()
  const neighbour = await sendingAccount(t)
  await queue(bob, 1, neighbour)
  await sink.arrived(1)
  await queueAfter()
  expect(sink.mails.map(({ to }) => to)).toEqual([[bob], [later]])
  const { deleted } = await deleteAccount(t.app, account.id, { actor: 'cli:test' })
  expect(deleted).toMatchObject({ messages: 3, message_queue: 3 })
  await queueAfter()
  expect(sink.mails).toHaveLength(3)
})
