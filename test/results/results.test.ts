import { Readable } from 'node:stream'
import { beforeEach, expect, test } from 'vitest'
import { Migration20261123231200_message_results as Counting } from '../../migrations/Migration20261123231200_message_results.ts'
import { Migration20261129120000_news_of_people as NewsOfPeople } from '../../migrations/Migration20261129120000_news_of_people.ts'
import { ingestBounces } from '../../src/bounces/bounces.ts'
import { createBroadcast, NewBroadcast, testBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { loadSent, recordInteraction, withdrawInteraction } from '../../src/engagement/engagement.ts'
import { countReport } from '../../src/messages/messages.reports.ts'
import { queueMails, withdrawMails } from '../../src/messages/messages.ts'
import { type ClaimedMessage, claimDue, freeClaims, unknownState } from '../../src/messages/outbox/outbox.claim.ts'
import {
  lackingResult,
  type Result,
  recordAll,
  recordResults,
  suppressedResult,
} from '../../src/messages/outbox/outbox.record.ts'
import { batchSize, foldBatch } from '../../src/results/fold.statement.ts'
import { foldPerson, foldResults, lockToCorrect, runResults } from '../../src/results/fold.ts'
import { mailStats } from '../../src/results/results.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { untilLocked } from '../support/database.ts'
import { type EngagedAccount, engagedAccount, useEngaged } from '../support/engagement.ts'
import { randomOfTest } from '../support/random.ts'
import { exim, yahoo } from '../support/reports.ts'
import { factsOf, recount, resultsIn } from '../support/results.ts'

const hourMs = 3_600_000
const harbour = 'https://example.com/harbour'
let account: EngagedAccount
let listId: string

const { t } = useEngaged({ development: true })
beforeEach(async () => {
  account = await engagedAccount(t)
  listId = (await work((w) => createList(w, { name: 'People' }))).id
})

const work: <R>(run: Parameters<typeof t.app.work<R>>[2], id?: string) => Promise<R> = (run, id = account.id) =>
  t.app.work(id, 'cli:test', run)

const cause = { broadcast: 'bct_1', other: 'bct_2', journey: 'jrn_1' }
const oneClick = {
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: 'List-Unsubscribe=One-Click',
}
let made = 0

/** Queues an email of the project, and returns its id and its key. */
const queue = async (to: string, from: 'broadcast' | 'other' | 'journey' | null, of = account) => {
  const batch = from === 'broadcast' || from === 'other' ? cause[from] : null
  const key = batch ? `broadcast:${batch}:${++made}` : `run:${++made}`
  const mail = {
    ...{ to, type: 'marketing' as const, key },
    source: from === 'journey' ? { kind: 'journey' as const, id: cause.journey } : { kind: 'send' as const, id: null },
    content: { projectId: of.projectId, mergeData: { name: 'Ada', email: to } },
  }
  const [queued] = await work(
    (w) => queueMails(t.app, w, [mail], batch ? { id: batch, isHeld: false } : undefined),
    of.id,
  )
  return { id: 'id' in queued! ? queued.id : '', key }
}

const claimAll = async (of = account): Promise<ClaimedMessage[]> => {
  const requests = ['', cause.broadcast, cause.other].map((batch) => ({
    ...{ accountId: of.id, batch, capacity: 1000, since: 0 },
  }))
  return (await claimDue(t.app.sql, 1, requests, 3000)).claims
}
const sentResult = (claimed: ClaimedMessage): Result => ({
  ...{ claimed, status: 'sent', reason: null, error: null, waitMs: 0, isBounced: false, isReply: true },
})
const sendAll = async (of = account) => {
  await recordResults(t.app.sql, (await claimAll(of)).map(sentResult), [])
}
/** Has the worker of the claims die while a connection has the messages. */
const loseClaims = async (claims: readonly ClaimedMessage[]) => {
  await t.app.sql('update message_queue set is_handing = true where id = any($1)', [claims.map(({ id }) => id)])
  await freeClaims(t.app, claims)
}

type Action = Parameters<typeof recordInteraction>[2]
const act = async (message: string, interaction: Partial<Action> & Pick<Action, 'kind'>, of = account) => {
  const sent = await loadSent(t.app, of.id, message)
  if (!sent) return
  await work((w) => recordInteraction(w, sent, { blockId: null, value: null, onOther: 'keep', ...interaction }), of.id)
}
const open = (message: string, isBot = false) => act(message, { kind: 'open', isBot })
const click = (message: string, url = harbour, isBot = false) =>
  act(message, { kind: 'click', value: url, written: url, link: url.length, isBot })
const vote = (message: string, value: string) =>
  act(message, { kind: 'vote', blockId: 'vote', value, onOther: 'replace' })
const book = (message: string) => act(message, { kind: 'booking', blockId: 'call', value: 1 })
const cancelBooking = (message: string) => work((w) => withdrawInteraction(w, message, 'booking', 'call'))
const report = (text: string) =>
  ingestBounces(t.app, Readable.from([Buffer.from(text)]), { accountId: null, actor: 'cli:test' })
const erase = (email: string) => work((w) => eraseContact(w, email, { dryRun: false }))
const contact = (email: string) => work((w) => writeContacts(w, listId, [{ email, fields: {} }], new Map()))

/** Runs the migration on the messages and interactions, as if they were from before it. */
const migrateAgain = () =>
  t.app.database.transaction(async (sql) => {
    await sql('drop table message_results, message_result_changes, message_people')
    for (const Later of [Counting, NewsOfPeople]) {
      const migration = new Later(undefined as never, undefined as never)
      migration.up()
      for (const query of migration.getQueries()) await sql(String(query))
    }
  })

const today = () => t.app.now().toISOString().slice(0, 10)
const stats = (scope: string) => resultsIn(t, account.id, scope)
const statsOfDays = (from: string, to: string) =>
  work((w) => mailStats(w, { from: new Date(`${from}T00:00:00Z`), to: new Date(`${to}T23:59:59Z`) }))

/** Compares the results of all scopes, and of the account in some periods, with a recount. */
const check = async (periods: readonly (readonly [string, string])[]) => {
  for (const scope of [account.projectId, ...Object.values(cause)])
    expect(factsOf(await stats(scope)), scope).toEqual(await recount(t, account.id, scope))
  for (const period of periods)
    expect(factsOf(await statsOfDays(...period)), period.join()).toEqual(await recount(t, account.id, null, period))
}

test('a person counts once, whatever they do; an open includes clicks and answers; machines do not count', async () => {
  const { id } = await queue('ada@people.example', 'broadcast')
  const second = await queue('bo@people.example', 'broadcast')
  await sendAll()
  await open(second.id, true)
  await click(second.id, harbour, true)
  for (let times = 0; times < 2; times++) {
    await click(id)
    await vote(id, String(times))
    await open(id)
  }
  const date = today()
  const numbers = {
    ...{ sent: 2, delivered: 2, opened: 1, clicked: 1, answered: 1, unsubscribed: 0 },
    ...{ bounced: 0, complained: 0, failed: 0, cancelled: 0, suppressed: 0 },
  }
  const expected = { ...numbers, links: [{ url: harbour, clicks: 1, people: 1 }], days: [{ date, ...numbers }] }
  expect(await stats(cause.broadcast)).toEqual(expected)
  expect(await stats(account.projectId)).toEqual(expected)
  expect(await statsOfDays(date, date)).toEqual(expected)
  expect(await stats(cause.journey)).toMatchObject({ sent: 0, opened: 0, links: [], days: [] })
  await foldResults(t.app)
  expect(await t.app.sql('select from message_result_changes')).toEqual([])
  expect(await stats(cause.broadcast)).toEqual(expected)
})

test('two loops that run while people act count each change once', async () => {
  const mails: { id: string }[] = []
  for (let i = 0; i < 40; i++) mails.push(await queue(`p${i}@people.example`, 'broadcast'))
  const stop = new AbortController()
  const report = (error: unknown) => expect.fail(String(error))
  const loops = [1, 2].map(() => runResults(t.app, stop.signal, report))
  await sendAll()
  for (const { id } of mails) await open(id)
  await Promise.all(Array.from({ length: 4 }, () => foldResults(t.app)))
  stop.abort()
  await Promise.all(loops)
  await foldResults(t.app)
  expect(await t.app.sql('select from message_result_changes')).toEqual([])
  await check([[today(), today()]])
  expect(await stats(cause.broadcast)).toMatchObject({ sent: 40, opened: 40 })
})

test('a person counts on the first UTC day; in a period of the account on its first day there', async () => {
  const untilMidnight = 24 * hourMs - (t.app.now().getTime() % (24 * hourMs))
  const ada = await queue('ada@people.example', 'broadcast')
  const again = await queue('ada@people.example', 'other')
  await sendAll()
  await t.advance(untilMidnight - 60_000)
  const before = today()
  await open(ada.id)
  await t.advance(61_000)
  const after = today()
  expect(after).not.toBe(before)
  await click(ada.id)
  await open(again.id)
  const byDay = async (scope: string) =>
    (await stats(scope)).days.flatMap(({ date, opened, clicked }) =>
      opened + clicked ? { date, opened, clicked } : [],
    )
  expect(await byDay(cause.broadcast)).toEqual([
    { date: before, opened: 1, clicked: 0 },
    { date: after, opened: 0, clicked: 1 },
  ])
  expect(await byDay(cause.other)).toEqual([{ date: after, opened: 1, clicked: 0 }])
  expect(await byDay(account.projectId)).toEqual(await byDay(cause.broadcast))
  expect(await statsOfDays(after, after)).toMatchObject({ opened: 1, clicked: 1 })
  expect(await statsOfDays(before, after)).toMatchObject({ opened: 1, clicked: 1 })
  await check([
    [before, after],
    [before, before],
    [after, after],
  ])
})

test('a message bounces and is complained about once, however many reports arrive at once', async () => {
  const { id } = await queue('ada@people.example', 'journey')
  await sendAll()
  await Promise.all(
    [1, 2, 3, 4].map((i) => report(exim({ id, messageId: `<${i}@mx>` }).replace('Sun, 22 Nov', `Sun, 2${i} Nov`))),
  )
  await Promise.all([1, 2, 3].map(() => report(yahoo({ id }))))
  expect(await stats(cause.journey)).toMatchObject({ sent: 1, bounced: 1, delivered: 0, complained: 1 })
  await check([])
})

test('of two reports at once the second one is counted after the first one, and so is no first report', async () => {
  const { id } = await queue('ada@people.example', 'journey')
  await sendAll()
  const reported = async (w: Work, fingerprint: string) => {
    await w.sql(
      `insert into message_reports (account_id, message_id, fingerprint, kind, created_at) values ($1, $2, $3, 'hard', $4)`,
      [w.accountId, id, fingerprint, w.now],
    )
    await countReport(w, id, 'bounced')
  }
  const second = await work(async (w) => {
    await reported(w, 'first')
    const waiting = work((other) => reported(other, 'second'))
    await Promise.race([waiting, untilLocked(t.app, 1)])
    // Wrapped in a list, because a returned promise would be awaited before the commit.
    return [waiting]
  })
  await Promise.all(second)
  expect(await stats(cause.journey)).toMatchObject({ sent: 1, bounced: 1, delivered: 0 })
})

test('a recipient who leaves by the link of an email counts as unsubscribed, once', async () => {
  const { id } = await queue('ada@people.example', 'broadcast')
  await sendAll()
  const token = t.app.tokens.sign('unsubscribe', [account.id, 'ada@people.example', id], null)
  const leave = () => t.request('POST', `/u/${token}`, oneClick)
  for (let times = 0; times < 2; times++) expect((await leave()).status).toBe(200)
  expect(await stats(cause.broadcast)).toMatchObject({ sent: 1, opened: 0, unsubscribed: 1 })
  await foldResults(t.app)
  expect(await statsOfDays(today(), today())).toMatchObject({ unsubscribed: 1, days: [{ unsubscribed: 1 }] })
})

test('a test email of a broadcast counts as a send of the account only', async () => {
  const { id } = await work((w) =>
    createBroadcast(w, NewBroadcast.parse({ list: 'People', project: account.projectId })),
  )
  await testBroadcast(t.app, account.id, 'cli:test', id, 'ada@people.example')
  expect(await stats(id)).toMatchObject({ sent: 0, days: [] })
  expect(await statsOfDays(today(), today())).toMatchObject({ sent: 1 })
})

test('an erased person is not counted any more, and no row keeps the address', async () => {
  const { id } = await queue('ada@people.example', 'broadcast')
  const other = await queue('bo@people.example', 'broadcast')
  await sendAll()
  for (const message of [id, other.id]) await click(message)
  await contact('ada@people.example')
  await erase('ada@people.example')
  expect(await stats(cause.broadcast)).toMatchObject({
    sent: 2,
    opened: 1,
    clicked: 1,
    links: [{ clicks: 2, people: 1 }],
  })
  expect(
    await t.app.sql(`select from message_people where account_id = $1 and email = 'ada@people.example'`, [account.id]),
  ).toEqual([])
  await check([[today(), today()]])
})

test('an erasure waits for an answer that is being recorded, and removes it too', async () => {
  const email = 'ada@people.example'
  const { id } = await queue(email, 'broadcast')
  await sendAll()
  await contact(email)
  let erasing: Promise<unknown> | undefined
  const sent = (await loadSent(t.app, account.id, id))!
  await work(async (w) => {
    await recordInteraction(w, sent, { kind: 'vote', blockId: 'vote', value: 'a', onOther: 'replace' })
    erasing = erase(email)
    await untilLocked(t.app, 1)
  })
  await erasing
  for (const table of ['interactions', 'message_people', 'message_result_changes', 'lead_scores'])
    expect(await t.app.sql(`select from ${table} where account_id = $1 and email = $2`, [account.id, email])).toEqual(
      [],
    )
  expect(await stats(cause.broadcast)).toMatchObject({ sent: 1, opened: 0, answered: 0 })
  await check([[today(), today()]])
})

test('two corrections of one person at once count the person once', async () => {
  const email = 'ada@people.example'
  await queue(email, 'broadcast')
  await sendAll()
  const clicks = batchSize + 500
  await t.app.sql(
    `insert into message_result_changes (account_id, project_id, cause, day, metric, count, email, url)
     select $1, $2, $3, current_date, 'clicked', 1, $4, $5 from generate_series(1, ${clicks})`,
    [account.id, account.projectId, cause.broadcast, email, harbour],
  )
  let second: Promise<void> | undefined
  await work(async (w) => {
    await w.sql(lockToCorrect, { accountId: account.id, email })
    await w.sql(foldBatch, { accountId: account.id, person: email })
    second = work((other) => foldPerson(other, email))
    await untilLocked(t.app, 1)
    await foldPerson(w, email)
  })
  await second
  expect(await stats(cause.broadcast)).toMatchObject({ opened: 1, clicked: 1, links: [{ clicks, people: 1 }] })
})

test('a withdrawn answer does not count, unless there is another one', async () => {
  const { id } = await queue('ada@people.example', 'broadcast')
  await sendAll()
  await book(id)
  expect(await stats(cause.broadcast)).toMatchObject({ opened: 1, answered: 1 })
  await cancelBooking(id)
  expect(await stats(cause.broadcast)).toMatchObject({ opened: 0, answered: 0 })
  await vote(id, 'a')
  await book(id)
  await t.advance(24 * hourMs)
  await vote(id, 'b')
  await cancelBooking(id)
  expect(await stats(cause.broadcast)).toMatchObject({ opened: 1, answered: 1 })
  await check([[today(), today()]])
})

test('numbers equal a recount after a random mix of everything, several at once', async () => {
  const random = randomOfTest()
  const begin = today()
  const messages: { id: string; key: string }[] = []
  const people = Array.from({ length: 12 }, (_, i) => `p${i}@people.example`)
  for (const email of people) await contact(email)
  const other = await engagedAccount(t)
  const foreign = await queue(people[0]!, 'broadcast', other)
  await sendAll(other)
  await click(foreign.id, harbour, false)
  const lost: ClaimedMessage[] = []
  const message = () => (messages.length === 0 ? '' : random.pick(messages).id)
  const record = async () => {
    const claims = await claimAll()
    const dead = claims.filter(() => random.next() < 0.1)
    const results = claims.flatMap((claimed) => {
      if (dead.includes(claimed)) return []
      const outcome = random.next()
      if (outcome < 0.1) return lackingResult(claimed, 'No')
      if (outcome < 0.2) return suppressedResult(claimed, 'bounced')
      if (outcome < 0.25) return { ...lackingResult(claimed, 'No such recipient'), isBounced: true, isReply: true }
      return sentResult(claimed)
    })
    await recordResults(t.app.sql, results, [])
    if (dead.length > 0) await loseClaims(dead)
    lost.push(...dead)
  }
  const actions: [number, () => Promise<unknown>][] = [
    [
      20,
      async () =>
        messages.push(await queue(random.pick(people), random.pick(['broadcast', 'other', 'journey', null] as const))),
    ],
    [6, record],
    [14, () => open(message(), random.next() < 0.3)],
    [
      14,
      () =>
        click(
          message(),
          random.pick([harbour, 'https://example.com/a', 'https://example.com/bc']),
          random.next() < 0.2,
        ),
    ],
    [10, () => vote(message(), random.pick(['a', 'b', 'c']))],
    [6, () => book(message())],
    [5, () => cancelBooking(message())],
    [3, () => report(exim({ id: message() }))],
    [2, () => report(yahoo({ id: message() }))],
    [1, () => work((w) => suppressAddresses(w, [random.pick(people)], 'manual'))],
    [2, () => work((w) => withdrawMails(w, [random.pick(messages)?.key ?? ''], 'Withdrawn'))],
    [1, () => foldResults(t.app)],
    [2, async () => recordResults(t.app.sql, lost.splice(0, 2).map(sentResult), [])],
    [
      1,
      async () => {
        const email = random.pick(people)
        await erase(email).catch(() => {})
        await contact(email)
      },
    ],
  ]
  const all = actions.flatMap(([weight, action]) => Array.from({ length: weight }, () => action))
  for (let round = 0; round < 40; round++) {
    await Promise.all(Array.from({ length: 6 }, () => random.pick(all)()))
    if (random.next() < 0.3) await t.advance(random.between(1, 20) * hourMs)
  }
  const end = today()
  const middle = new Date((Date.parse(begin) + Date.parse(end)) / 2).toISOString().slice(0, 10)
  await check([
    [begin, end],
    [begin, middle],
    [middle, end],
    [end, end],
  ])
  await foldResults(t.app)
  await check([[begin, end]])
  expect(
    await t.app.sql(`select from messages where account_id = $1 and error = $2 limit 1`, [account.id, unknownState]),
  ).toBeDefined()

  // Of the links, the migration counts those that the version has as they are.
  const clicked = ['https://example.com/a', 'https://example.com/bc']
  await t.app.sql('update project_versions set content = content || $2::jsonb where project_id = $1', [
    account.projectId,
    JSON.stringify({ preheader: [harbour, ...clicked].join(' ') }),
  ])
  const counted = async () => {
    const rows = await t.app.sql<{ metric: string }>(
      `select scope, day::text, metric, link, since::text, url, count from message_results
       where account_id = $1 and count <> 0 and metric <> 'unsubscribed' order by scope, day, metric, link, since`,
      [account.id],
    )
    const people = await t.app.sql(
      `select email, scope, link, opened::text, clicked::text, answered::text from message_people
       where account_id = $1 order by email, scope, link`,
      [account.id],
    )
    return { rows, people }
  }
  const before = await counted()
  await migrateAgain()
  await check([
    [begin, end],
    [begin, middle],
    [middle, end],
    [end, end],
  ])
  expect(await counted()).toEqual(before)
  // What happens later is added to what the migration has counted.
  for (const { id } of messages.slice(0, 20)) {
    await click(id, random.pick(clicked))
    await vote(id, random.pick(['a', 'd']))
    await cancelBooking(id)
  }
  await erase(people[1]!)
  await check([[begin, end]])
  await foldResults(t.app)
  await check([[begin, end]])
})

test('the migration counts the clicks of a link without merge tags, and of another one only the people', async () => {
  const ada = await queue('ada@people.example', 'broadcast')
  const bo = await queue('bo@people.example', 'broadcast')
  await sendAll()
  for (const { id } of [ada, bo]) await click(id)
  await click(ada.id, 'https://example.com/start?email=ada%40people.example')
  await open(bo.id, true)
  await migrateAgain()
  expect(await stats(cause.broadcast)).toMatchObject({
    ...{ sent: 2, opened: 2, clicked: 2, unsubscribed: 0 },
    links: [{ url: harbour, clicks: 2, people: 2 }],
  })
})

test('results that are recorded again, after only a part of them was committed, count and return volume once', async () => {
  const people = Array.from({ length: 5 }, (_, i) => `p${i}@people.example`)
  for (const email of people) {
    await contact(email)
    await queue(email, 'broadcast')
  }
  const [taken, ...claims] = await claimAll()
  const results = claims.map((claimed, i) => (i < 2 ? sentResult(claimed) : suppressedResult(claimed, 'bounced')))
  const record = () => recordAll(t.app, results, [taken!])
  const used = async () => {
    const [use] = await t.app.sql<{ used: number }>(
      `select used from quota_uses where account_id = $1 and quota = 'sends'`,
      [account.id],
    )
    return use!.used
  }
  const tallies = () =>
    t.app.sql(
      'select status, sum(count)::int as count from message_tallies where account_id = $1 group by 1 order by 1',
      [account.id],
    )
  // Those that were not offered to a relay are recorded in a second transaction, which fails.
  await t.app.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`)
  await t.app.sql('create trigger refuse before update on quota_uses for each row execute function refuse()')
  await expect(record()).rejects.toThrow('no')
  await t.app.sql('drop trigger refuse on quota_uses')
  expect(await tallies()).toEqual([{ status: 'sent', count: 2 }])
  const before = await used()

  const again = await record()
  expect(again.written.map(({ status }) => status)).toEqual(['suppressed', 'suppressed'])
  expect([...again.marked]).toContain(taken!.id)
  for (const _ of [1, 2]) {
    expect(await tallies()).toEqual([
      { status: 'sent', count: 2 },
      { status: 'suppressed', count: 2 },
    ])
    expect(await stats(cause.broadcast)).toMatchObject({ sent: 2, suppressed: 2, failed: 0 })
    expect(await used()).toBe(before - 2)
    expect((await record()).written).toEqual([])
  }
  await recordResults(t.app.sql, [sentResult(taken!)], [])
})
