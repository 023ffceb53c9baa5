import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { exportContacts } from '../../src/contacts/contacts.find.ts'
import { listContacts } from '../../src/contacts/contacts.ts'
import { countSegment, createSegment, deleteSegment, narrow, updateSegment } from '../../src/segments/segments.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Random, randomOfTest } from '../support/random.ts'
import { columns, type Person, person, writePeople } from './people.ts'

const now = new Date('2026-11-20T12:00:00Z')
const t = useApp({ now: () => now })

const hourMs = 3_600_000
const ago = (hours: number) => new Date(now.getTime() - hours * hourMs)

/** The addresses of an account's contacts that meet a filter, by pages of `limit`, and their number as a segment's count. */
const matching = async (account: TestAccount, list: string, where: string, limit = 1_000) => {
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const emails = await work(async (w) => {
    const selected = await narrow(w, { list, where })
    const emails: string[] = []
    let cursor: string | undefined
    do {
      const page = await listContacts(w, { ...selected, limit, cursor })
      emails.push(...page.rows.map(({ email }) => email))
      cursor = page.nextCursor ?? undefined
    } while (cursor)
    return emails
  })
  const count = await work((w) => countSegment(w, { listId: list, where } as never))
  return { emails, count }
}

const expectMatching = async (account: TestAccount, list: string, where: string, emails: readonly string[]) => {
  const found = await matching(account, list, where)
  expect({ where, ...found }).toEqual({ where, emails: [...emails], count: emails.length })
}

describe('the terms', () => {
  let account: TestAccount
  let list: string
  const day = (of: string) => new Date(`${of}Z`)
  const people = [
    person('ada@acme.test', {
      ...{ verification: 'valid', fields: { plan: 'pro', age: '30', 'First name': 'Ada', renewal: '2026-12-01' } },
      ...{ created: ago(30 * 24), updated: day('2026-11-01T23:59:59.999'), score: { points: 10, at: ago(30 * 24) } },
      sent: [
        { at: ago(1), project: 'prj_1', broadcast: null },
        { at: ago(50 * 24), project: 'prj_2', broadcast: 'bct_1' },
      ],
      interactions: [
        { kind: 'open', at: ago(40 * 24), project: 'prj_1', broadcast: null },
        {
          ...{ kind: 'click', at: ago(2 * 24), project: 'prj_2', broadcast: 'bct_1' },
          value: 'https://acme.test/Offer?id=1',
        },
      ],
      events: [
        { name: 'plan.upgraded', at: ago(48) },
        { name: 'plan.upgraded', at: ago(100 * 24) },
      ],
      suppressed: ['bounced'],
      isInOthers: true,
      deals: [
        { stage: 'Talks', status: 'open', value: 10 },
        { stage: 'Won', status: 'won', value: 500.5 },
      ],
      webinars: [{ id: 'web_1', status: 'waitlisted' }],
      courses: [{ id: 'crs_1', active: true }],
      left: ['top_1', 'top_0'],
    }),
    person('bob@Beta.test'.toLowerCase(), {
      ...{ status: 'pending', verification: 'risky', fields: { plan: 'Pro', age: '9.5', renewal: 'soon' } },
      ...{ created: ago(31 * 24), updated: day('2026-11-02T00:00'), score: { points: 3, at: ago(0) } },
      sent: [{ at: ago(60 * 24), project: 'prj_2', broadcast: 'bct_2' }],
      bounced: [{ at: ago(59 * 24), project: 'prj_2', broadcast: 'bct_2' }],
      interactions: [
        {
          ...{ kind: 'click', at: ago(50 * 24), project: 'prj_2', broadcast: 'bct_2', isBot: true },
          value: 'https://acme.test/Offer?id=1',
        },
        { kind: 'open', at: ago(50 * 24), project: 'prj_2', broadcast: 'bct_2' },
        { kind: 'open', at: ago(1), project: 'prj_2', broadcast: 'bct_2', isBot: true },
      ],
      deals: [{ stage: 'Lost', status: 'lost', value: 7 }],
      webinars: [{ id: 'web_1', status: 'cancelled' }],
      courses: [{ id: 'crs_1', active: false }],
      left: [''],
    }),
    person('carla', { fields: { plan: '', age: 'n/a' }, created: ago(-1), updated: day('2026-11-01T00:00') }),
  ]
  const [ada, bob, carla] = people.map(({ email }) => email) as [string, string, string]

  beforeAll(async () => {
    account = await t.account()
    list = await writePeople(t, account, people)
    // Another account, whose people did everything.
    const stranger = await t.account()
    const everything = people.map(({ email }) => ({ ...people[0]!, email }))
    await writePeople(t, stranger, everything, { mark: 'x' })
  })

  test.each<[string, string[]]>([
    // Fields. `=` and order are case-sensitive; a missing value is the empty string.
    ['plan = pro', [ada]],
    ['field.plan = Pro', [bob]],
    ['plan != pro', [bob, carla]],
    ['plan ~ PRO', [ada, bob]],
    ['plan ~ ""', [ada, bob, carla]],
    ['plan is empty', [carla]],
    ['plan is not empty', [ada, bob]],
    ['plan in (pro, "")', [ada, carla]],
    ['field."First name" = Ada', [ada]],
    ['field.unknown is empty', [ada, bob, carla]],
    ['field.unknown = x', []],
    ['plan < b', [bob, carla]],
    // Order comparisons with numbers hold only for numeric values, those with dates only for dates.
    ['age > 9', [ada, bob]],
    ['age < 10', [bob]],
    ['not age < 10', [ada, carla]],
    ['age >= "9"', [bob, carla]],
    ['age = 30', [ada]],
    ['age = 30.0', [ada]],
    ['renewal = today+11d', [ada]],
    ['renewal > today and renewal < now+12d', [ada]],
    ['renewal < now', []],
    ['renewal >= 2026-12-01', [ada]],
    ['renewal < 2030-01-01', [ada]],
    // Values are values.
    [`plan = "'; drop table contacts; --"`, []],
    [`field."'; drop table contacts; --" is empty`, [ada, bob, carla]],
    ['plan ~ "%"', []],
    ['email = ada@acme.test', [ada]],
    ['email ~ ACME', [ada]],
    ['domain = beta.test', [bob]],
    ['domain is empty', [carla]],
    ['status = pending', [bob]],
    ['verification in (valid, risky)', [ada, bob]],
    ['verification is empty', [carla]],
    ['verification != valid', [bob, carla]],
    // Times.
    ['created < 30d', [carla]],
    ['created <= 30d', [ada, carla]],
    ['created > 30d', [bob]],
    ['created >= 30d', [ada, bob]],
    ['updated = 2026-11-01', [ada, carla]],
    ['updated > 2026-11-01', [bob]],
    ['updated >= 2026-11-01', [ada, bob, carla]],
    ['updated <= 2026-11-01', [ada, carla]],
    ['updated < 2026-11-01', []],
    ['created is empty', []],
    ['created = now-30d', [ada]],
    ['created < now-30d', [bob]],
    ['created > now - 30d', [carla]],
    ['created >= today', [carla]],
    ['created = today', [carla]],
    ['created = today-30d', [ada]],
    ['created >= today+12h', [carla]],
    ['created <= today-708h', [ada, bob]],
    // Scores decay, and are 0 for an unknown address.
    ['score = 5', [ada]],
    ['score >= 3', [ada, bob]],
    ['score < 3', [carla]],
    ['score = 0', [carla]],
    ['score in (0, 3)', [bob, carla]],
    ['score is empty', []],
    // Engagement: the latest time counts.
    ['sent < 1d', [ada]],
    ['sent > 30d', [bob]],
    ['sent is empty', [carla]],
    ['sent in Welcome < 30d', [ada]],
    ['sent in News > 30d', [ada, bob]],
    ['sent in prj_2 > 30d', [ada, bob]],
    ['sent in bct_1 > 30d', [ada]],
    ['sent in "Mail bct_2" > 30d', [bob]],
    ['opened < 30d', [ada]],
    ['opened > 30d', [bob]],
    ['not opened < 30d', [bob, carla]],
    ['opened in Welcome > 30d', [ada]],
    ['opened in Welcome < 30d', []],
    ['opened is not empty', [ada, bob]],
    ['opened in bct_2 is not empty', [bob]],
    ['opened = 2026-11-18', [ada]],
    ['clicked < 3d', [ada]],
    ['clicked in bct_1 < 3d', [ada]],
    ['clicked in bct_2 is not empty', []],
    ['answered is not empty', []],
    ['bounced < 90d', [bob]],
    ['bounced in bct_1 < 90d', []],
    // Deals: any of them, and each term by another one.
    ['deal.status = won', [ada]],
    ['deal.status = open and deal.status = won', [ada]],
    ['deal.stage = Talks and deal.value > 100', [ada]],
    ['deal.status != won', [bob, carla]],
    ['deal.status is empty', [carla]],
    ['deal.stage ~ LOST', [bob]],
    ['deal.stage in (Lost, Won)', [ada, bob]],
    ['deal.value < 100', [ada, bob]],
    ['deal.value = 500.50', [ada]],
    ['deal.value is empty', [carla]],
    ['webinar = web_1', [ada]],
    ['webinar = "Title web_1"', [ada]],
    ['webinar != web_1', [bob, carla]],
    ['webinar is empty', [bob, carla]],
    ['webinar in (web_2)', []],
    ['course = "Title crs_1"', [ada]],
    ['course != crs_1', [bob, carla]],
    // Topics that an address has not left. Who left everything has left each.
    ['topic = top_1', [carla]],
    ['topic = "Topic top_2"', [ada, carla]],
    ['topic != top_1', [ada, bob]],
    ['topic in (top_1, top_2)', [ada, carla]],
    ['topic is empty', [bob]],
    ['not topic is empty and topic != top_1', [ada]],
    // Lists and segments.
    ['list = Others', [ada]],
    ['list = lst_ and list != lst_others', [bob, carla]],
    ['list in (Others, People)', [ada, bob, carla]],
    // Suppression.
    ['suppression = bounced', [ada]],
    ['suppression = unsubscribed', [bob]],
    ['suppression is empty', [carla]],
    ['suppression in (manual, unsubscribed)', [bob]],
    // What programs reported.
    ['event.plan.upgraded < 3d', [ada]],
    ['event.plan.upgraded > 3d', []],
    ['event.plan.upgraded = 2026-11-18', [ada]],
    ['event."plan.upgraded" is empty', [bob, carla]],
    ['event.plan is not empty', []],
    // Clicks.
    ['link = "https://acme.test/Offer?id=1"', [ada]],
    ['link ~ offer', [ada]],
    ['link = "https://acme.test/Offer"', []],
    ['link is empty', [bob, carla]],
    ['deal.status = won or plan is empty', [ada, carla]],
    ['not (deal.status = won or plan is empty)', [bob]],
  ])('%s', (where, emails) => expectMatching(account, list, where, emails))

  test.each([
    ['opened in Nothing < 3d', 'filter, column 11: There is no project or broadcast Nothing'],
    // Of another account.
    ['opened in prj_1x < 3d', 'filter, column 11: There is no project or broadcast prj_1x'],
    ['webinar in (web_1, web_1x)', 'filter, column 20: There is no webinar web_1x'],
    ['course = Nothing', 'filter, column 10: There is no course Nothing'],
    ['topic = Deleted', 'filter, column 9: There is no topic Deleted'],
    ['not topic in (top_1, top_1x)', 'filter, column 22: There is no topic top_1x'],
  ])('%s is a mistake', async (where, message) => {
    const narrowed = t.app.work(account.id, 'cli:test', (w) => narrow(w, { list, where }))
    await expect(narrowed).rejects.toMatchObject({ kind: 'invalid', message })
  })
})

const answered = (hours: number, project: string, block: string, value: unknown, rest: object = {}) => ({
  ...{ kind: 'vote', at: ago(hours), project, broadcast: null, block, value },
  ...rest,
})

describe('answers', () => {
  let account: TestAccount
  let list: string
  const people = [
    person('ada@acme.test', {
      interactions: [
        answered(3, 'prj_1', 'plan', 'Pro'),
        answered(2, 'prj_2', 'plan', 'Free'),
        answered(1, 'prj_1', 'other', 'Pro'),
      ],
    }),
    person('bob@acme.test', {
      interactions: [
        answered(3, 'prj_1', 'plan', 'Free'),
        answered(2, 'prj_2', 'plan', 'Pro'),
        answered(1, 'prj_2', 'plan', 'Free', { isBot: true }),
        answered(1, 'prj_2', 'plan', 'https://x.test', { kind: 'click' }),
        answered(1, 'prj_1', 'stars', 4, { kind: 'rating' }),
      ],
    }),
    person('cid@acme.test', {
      interactions: [
        answered(1, 'prj_1', 'survey', { city: 'Vienna', age: '40' }, { kind: 'form' }),
        answered(1, 'prj_1', 'gone', null, { kind: 'form' }),
      ],
    }),
  ]
  const [ada, bob, cid] = people.map(({ email }) => email) as [string, string, string]

  beforeAll(async () => {
    account = await t.account()
    list = await writePeople(t, account, people, { mark: 'a' })
  })

  test.each<[string, string[]]>([
    ['answer.plan = Pro', [bob]],
    ['answer.plan != Pro', [ada, cid]],
    ['answer.plan in Welcome = Pro', [ada]],
    ['answer.plan in prj_2a in (Pro, x)', [bob]],
    ['answer.plan in (Pro, Free)', [ada, bob]],
    ['answer.plan is empty', [cid]],
    ['answer."plan" ~ PR', [bob]],
    ['answer.stars > 3', [bob]],
    ['answer.stars = 4.0', [bob]],
    ['answer.stars < 4', []],
    // Any field of a form.
    ['answer.survey = Vienna', [cid]],
    ['answer.survey >= 40 and answer.survey = Vienna', [cid]],
    ['answer.survey is not empty', [cid]],
    // Its text was dropped.
    ['answer.gone is empty', [ada, bob, cid]],
    ['answer.unknown is not empty', []],
  ])('%s', (where, emails) => expectMatching(account, list, where, emails))

  test.each([
    ['answer. = x', 'filter, column 9: expected a name after "answer."'],
    ['answer = x', 'filter, column 1: unknown term "answer"; available: '],
    ['answer.plan in Nothing = x', 'filter, column 16: There is no project or broadcast Nothing'],
  ])('%s is a mistake', async (where, message) => {
    const narrowed = t.app.work(account.id, 'cli:test', (w) => narrow(w, { list, where }))
    await expect(narrowed).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining(message) })
  })
})

/** A number from 0 to 100 from the address and a salt. */
const sampleOf = (email: string, salt = ''): number =>
  (createHash('sha256').update(`${salt}\n${email}`).digest().readUInt32BE() * 100) / 2 ** 32

describe('samples', () => {
  test('follow from the address; another salt is another sample', async () => {
    const account = await t.account()
    const people = Array.from({ length: 400 }, (_, i) => person(`p${1000 + i}@acme.test`))
    const list = await writePeople(t, account, people, { mark: 'h' })
    const those = (holds: (email: string) => boolean) => people.map(({ email }) => email).filter(holds)
    await expectMatching(
      account,
      list,
      'sample < 10',
      those((email) => sampleOf(email) < 10),
    )
    await expectMatching(
      account,
      list,
      'sample >= 50.5',
      those((email) => sampleOf(email) >= 50.5),
    )
    await expectMatching(
      account,
      list,
      'sample.spring < 10',
      those((email) => sampleOf(email, 'spring') < 10),
    )
    await expectMatching(
      account,
      list,
      'sample."a b" < 10',
      those((email) => sampleOf(email, 'a b') < 10),
    )
    await expectMatching(account, list, 'sample is empty', [])
    expect(those((email) => sampleOf(email) < 10)).not.toEqual(those((email) => sampleOf(email, 'spring') < 10))
    expect(those((email) => sampleOf(email) < 10).length).toBeGreaterThan(20)
  })
})

describe('segments in filters', () => {
  const setUp = async () => {
    const account = await t.account()
    const people = [
      person('ada@acme.test', { fields: { plan: 'pro' }, isInOthers: true, suppressed: ['manual'] }),
      person('bob@acme.test', { fields: { plan: 'pro' } }),
      person('cid@acme.test', { fields: { plan: 'free' }, isInOthers: true }),
    ]
    const list = await writePeople(t, account, people, { mark: account.id })
    const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
    const create = (name: string, list: string, where: string) => work((w) => createSegment(w, { name, list, where }))
    const update = (name: string, where: string) => work((w) => updateSegment(w, name, { where }))
    return { account, list, work, create, update }
  }

  test('select those whose address is in the segment, in its list', async () => {
    const { account, list, create, update } = await setUp()
    await create('Pro elsewhere', 'Others', 'city = pro')
    await create('Pro', 'People', 'plan = pro')
    await expectMatching(account, list, 'segment = "Pro elsewhere"', ['ada@acme.test'])
    await expectMatching(account, list, 'segment != "Pro elsewhere"', ['bob@acme.test', 'cid@acme.test'])
    await expectMatching(account, list, 'segment in ("Pro elsewhere", Pro) and not list = Others', ['bob@acme.test'])
    // A segment of segments, with terms of rows in it.
    await create('Reachable', 'People', 'segment = Pro and (suppression is empty or segment = "Pro elsewhere")')
    await expectMatching(account, list, 'not segment = Reachable or segment = Reachable and plan = pro', [
      'ada@acme.test',
      'bob@acme.test',
      'cid@acme.test',
    ])
    await expectMatching(account, list, 'segment = Reachable and suppression is empty', ['bob@acme.test'])
    await update('Pro', 'plan = free')
    await expectMatching(account, list, 'segment = Reachable', ['cid@acme.test'])
  })

  test('a circle is a mistake, also by two changes at the same time', async () => {
    const { create, update } = await setUp()
    for (const name of ['A', 'B', 'C']) await create(name, 'People', 'plan = pro')
    await expect(update('A', 'segment = A')).rejects.toMatchObject({
      kind: 'invalid',
      message: "filter, column 11: the segment A can't be used: it contains itself",
    })
    await update('B', 'segment = C')
    await update('C', 'not segment = A')
    await expect(update('A', 'plan = x or segment = B')).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/^filter, column 23: the segment B can't be used: .* it contains itself$/),
    })
    for (let i = 0; i < 5; i++) {
      await update('A', 'plan = pro')
      await update('B', 'plan = pro')
      const both = await Promise.allSettled([update('A', 'segment = B'), update('B', 'segment = A')])
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    }
  })

  test('a segment that is unknown, deleted or of a deleted list is a mistake', async () => {
    const { account, list, work, create } = await setUp()
    await create('Pro', 'People', 'plan = pro')
    const used = await create('User', 'People', 'segment = Pro')
    await create('Elsewhere', 'Others', 'city = pro')
    const mistake = async (where: string, message: string) =>
      expect(work((w) => narrow(w, { list, where }))).rejects.toMatchObject({ kind: 'invalid', message })
    await mistake('segment = Nothing', 'filter, column 11: There is no segment Nothing')
    await mistake('segment is empty', 'filter, column 9: expected =, != or in after "segment"')
    await t.app.sql('delete from contact_lists where id = $1', [`lst_others${account.id}`])
    await mistake(
      'segment = Elsewhere',
      "filter, column 11: the segment Elsewhere can't be used: The list of the segment Elsewhere was deleted",
    )
    await work((w) => deleteSegment(w, 'Pro'))
    await expect(work((w) => countSegment(w, used))).rejects.toMatchObject({
      kind: 'invalid',
      message: 'filter, column 11: Pro does not exist any more',
    })
  })

  test('a filter has at most 100 comparisons with those of its segments', async () => {
    const { create } = await setUp()
    await create('Half', 'People', Array.from({ length: 50 }, (_, i) => `plan = ${i}`).join(' or '))
    await create(
      'All but one',
      'People',
      `segment = Half and ${Array.from({ length: 49 }, () => 'plan = x').join(' or ')}`,
    )
    await expect(create('Twice', 'People', 'segment = Half or segment != Half')).rejects.toMatchObject({
      kind: 'invalid',
      message:
        "filter, column 30: the segment Half can't be used: a filter has at most 100 comparisons, with those of its segments",
    })
  })
})

test('in an account without topics no contact has one', async () => {
  const account = await t.account()
  const list = await writePeople(t, account, [person('ada@acme.test', { left: [''] }), person('bob@acme.test')], {
    mark: 'n',
  })
  await t.app.sql('delete from topics where account_id = $1', [account.id])
  await expectMatching(account, list, 'topic is empty', ['ada@acme.test', 'bob@acme.test'])
  await expectMatching(account, list, 'topic is not empty', [])
})

type Test = { text: string; holds(one: Person): boolean }
/** Moments with their dates. */
const moments: [text: string, date: string][] = [
  ['now', '2026-11-20'],
  ['today-19d', '2026-11-01'],
  ['today - 456h', '2026-11-01'],
  ['now+12h', '2026-11-21'],
]
const keywords = ['or', 'and', 'not', 'in', 'is', 'empty']

/** Returns filters with what they mean, computed without SQL. */
const filters = (random: Random) => {
  const values = [
    ...[
      '',
      'Ada',
      'ada',
      'ADA ',
      '30',
      '030',
      '-1.5',
      '9',
      '2026-11-01',
      '2026-11-01T10:00',
      'x y',
      '1e5',
      'Ünï',
      'and',
    ],
    ...['%', '_', 'a\\b', 'say "hi"', "'; drop table contacts; --", 'null', '$1', 'pro'],
  ]
  const quoted = (value: string) => `"${value.replaceAll('"', '\\"')}"`
  const written = (value: string) =>
    /^[A-Za-z0-9_.@-]+$/.test(value) && !keywords.includes(value) && random.next() < 0.7
      ? { value, text: value, isBare: true }
      : { value, text: quoted(value), isBare: false }
  const compare = (operator: string, a: string | number, b: string | number) =>
    operator === '<' ? a < b : operator === '<=' ? a <= b : operator === '>' ? a > b : a >= b

  const textTests = (
    name: string,
    valuesOf: (one: Person) => string[],
    pool: readonly string[],
    isClosed = false,
  ): Test => {
    const any = (test: (value: string) => boolean) => (one: Person) => {
      const found = valuesOf(one)
      return (found.length > 0 ? found : ['']).some(test)
    }
    const operator = random.pick(
      isClosed ? ['=', '!=', 'in', 'is'] : ['=', '!=', '~', '<', '<=', '>', '>=', 'in', 'is'],
    )
    const hasMoment = !isClosed && !['~', 'in', 'is'].includes(operator) && random.next() < 0.15
    const [momentText, moment] = hasMoment ? random.pick(moments) : [null, null]
    const { value, text, isBare } = momentText
      ? { value: '', text: momentText, isBare: true }
      : written(random.pick(pool))
    const isNumber = (of: string) => /^-?\d+(\.\d+)?$/.test(of)
    const equals = (own: string) => {
      if (moment) return own.slice(0, 10) === moment
      return own === value || (isBare && isNumber(value) && isNumber(own) && Number(own) === Number(value))
    }
    if (operator === '=') return { text: `${name} = ${text}`, holds: any(equals) }
    if (operator === '!=') return { text: `${name}!=${text}`, holds: (one) => !any(equals)(one) }
    if (operator === '~')
      return { text: `${name} ~ ${text}`, holds: any((one) => one.toLowerCase().includes(value.toLowerCase())) }
    if (operator === 'is') {
      const isNot = random.next() < 0.5
      const isEmpty = any((one) => one === '')
      return { text: `${name} is ${isNot ? 'not ' : ''}empty`, holds: (one) => isEmpty(one) !== isNot }
    }
    if (operator === 'in') {
      const others = [written(random.pick(pool)), written(random.pick(pool))]
      const all = [value, ...others.map((one) => one.value)]
      const list = [text, ...others.map((one) => one.text)].join(', ')
      const numbers = [{ value, isBare }, ...others].filter((one) => one.isBare && isNumber(one.value))
      return {
        text: `${name} in (${list})`,
        holds: any(
          (own) => all.includes(own) || (isNumber(own) && numbers.some((one) => Number(one.value) === Number(own))),
        ),
      }
    }
    const number = /^-?\d+(\.\d+)?$/
    const date = /^\d{4}-\d{2}-\d{2}/
    const holds = (own: string) => {
      if (isBare && number.test(value)) return number.test(own) && compare(operator, Number(own), Number(value))
      if (moment) return date.test(own) && compare(operator, own.slice(0, 10), moment)
      if (isBare && value === '2026-11-01') return date.test(own) && compare(operator, own.slice(0, 10), value)
      return compare(operator, own, value)
    }
    return { text: `${name} ${operator} ${text}`, holds: any(holds) }
  }

  const timeTests = (name: string, timesOf: (one: Person) => Date[]): Test => {
    const latest = (one: Person) => Math.max(...timesOf(one).map((at) => at.getTime()))
    const operator = random.pick(['<', '<=', '>', '>=', '=', '!=', 'is'])
    if (operator === 'is') return { text: `${name} is empty`, holds: (one) => timesOf(one).length === 0 }
    if (operator.includes('=') && operator.length === 1 + Number(operator === '!=')) {
      const day = random.between(1, 20)
      const start = Date.UTC(2026, 10, day)
      const isThen = (one: Person) => latest(one) >= start && latest(one) < start + 24 * hourMs
      return {
        text: `${name} ${operator} 2026-11-${String(day).padStart(2, '0')}`,
        holds: (one) => isThen(one) === (operator === '='),
      }
    }
    if (random.next() < 0.2) {
      const [text, ms] = random.pick<[string, number]>([
        ['now-24h', now.getTime() - 24 * hourMs],
        ['now - 10d', now.getTime() - 240 * hourMs],
        ['today-12h', Date.UTC(2026, 10, 19, 12)],
      ])
      return {
        text: `${name} ${operator} ${text}`,
        holds: (one) => timesOf(one).length > 0 && compare(operator, latest(one), ms),
      }
    }
    const hours = random.pick([1, 24, 48, 24 * 10, 24 * 30])
    const age = hours % 24 === 0 && random.next() < 0.5 ? `${hours / 24}d` : `${hours}h`
    return {
      text: `${name} ${operator} ${age}`,
      holds: (one) => timesOf(one).length > 0 && compare(operator, now.getTime() - latest(one), hours * hourMs),
    }
  }

  const scoped = (name: string, of: (one: Person) => Person['interactions'] | Person['sent']): Test => {
    const [text, isIn] = random.pick<[string, (mail: Person['sent'][number]) => boolean]>([
      ['', () => true],
      ['in Welcome', ({ project }) => project === 'prj_1'],
      ['in News', ({ project }) => project === 'prj_2'],
      ['in "Mail bct_1"', ({ broadcast }) => broadcast === 'bct_1'],
      ['in bct_2', ({ broadcast }) => broadcast === 'bct_2'],
    ])
    return timeTests(`${name} ${text}`, (one) =>
      of(one)
        .filter(isIn)
        .map(({ at }) => at),
    )
  }

  const numberTests = (name: string, of: (one: Person) => number[], pool: readonly number[]): Test => {
    const value = random.pick(pool)
    const operator = random.pick(['<', '<=', '>', '>=', '='])
    return {
      text: `${name} ${operator} ${value}`,
      holds: (one) => of(one).some((own) => (operator === '=' ? own === value : compare(operator, own, value))),
    }
  }

  const interactions = (kinds: (kind: string) => boolean) => (one: Person) =>
    one.interactions.filter(({ kind, isBot }) => !isBot && kinds(kind))

  const comparison = (): Test =>
    random.pick<() => Test>([
      ...['plan', 'age', 'First name', 'renewal'].flatMap((name) => [
        () =>
          textTests(
            name.includes(' ') ? `field."${name}"` : random.pick([name, `field.${name}`]),
            (one) => [one.fields[name] ?? ''],
            values,
          ),
      ]),
      () => textTests('email', ({ email }) => [email], ['p1@acme.test', 'P1', 'acme', '']),
      () => textTests('domain', ({ email }) => [email.split('@')[1] ?? ''], ['acme.test', 'beta.test', '']),
      () => textTests('status', ({ status }) => [status], ['active', 'pending'], true),
      () => textTests('verification', ({ verification }) => [verification ?? ''], ['valid', 'risky', ''], true),
      () => numberTests('sample', ({ email }) => [sampleOf(email)], [0, 10, 33.3, 50, 100]),
      () => numberTests('sample.x', ({ email }) => [sampleOf(email, 'x')], [0, 10, 33.3, 50, 100]),
      () =>
        textTests(
          'suppression',
          ({ suppressed, left }) => [...suppressed, ...(left.includes('') ? ['unsubscribed'] : [])],
          ['unsubscribed', 'bounced', 'complained', 'manual', ''],
          true,
        ),
      () =>
        textTests(
          'link',
          ({ interactions }) =>
            interactions.filter(({ kind, isBot }) => kind === 'click' && !isBot).map(({ value }) => value as string),
          ['https://acme.test/a', 'https://acme.test/b', 'acme', ''],
        ),
      () => {
        const project = random.pick(['', 'prj_1', 'prj_2'])
        const scope = { '': '', prj_1: ' in Welcome', prj_2: ' in News' }[project]
        const latest = (one: Person) =>
          one.interactions
            .filter((own) => own.block === 'q' && !own.isBot && !['open', 'click'].includes(own.kind))
            .filter((own) => project === '' || own.project === project)
            .sort((a, b) => a.at.getTime() - b.at.getTime())
            .at(-1)
        return textTests(`answer.q${scope}`, (one) => [String(latest(one)?.value ?? '')], ['Yes', 'No', '3', '03', ''])
      },
      () => {
        const name = random.pick(['a', 'b.c'])
        return timeTests(`event.${name}`, ({ events }) => events.filter((one) => one.name === name).map(({ at }) => at))
      },
      () => {
        const id = random.pick(['Others', 'People'])
        const has = (one: Person) => id === 'People' || one.isInOthers
        return random.pick([
          { text: `list = ${id}`, holds: has },
          { text: `list != ${id}`, holds: (one: Person) => !has(one) },
        ])
      },
      () => {
        const segments: Record<string, (one: Person) => boolean> = {
          Pro: ({ fields }) => fields.plan === 'pro',
          'Others clicked': (one) => one.isInOthers && interactions((kind) => kind === 'click')(one).length > 0,
          Both: (one) => segments.Pro!(one) || segments['Others clicked']!(one),
        }
        const name = random.pick(Object.keys(segments))
        const holds = segments[name]!
        // Those of the segments count, too: at most 4, of Pro and Both.
        comparisons += 4
        return random.pick([
          { text: `segment = "${name}"`, holds },
          { text: `segment != "${name}"`, holds: (one: Person) => !holds(one) },
          { text: `segment in (Pro, "${name}")`, holds: (one: Person) => holds(one) || segments.Pro!(one) },
        ])
      },
      () => timeTests('created', ({ created }) => [created]),
      () => timeTests('updated', ({ updated }) => [updated]),
      () => scoped('sent', ({ sent }) => sent),
      () => scoped('bounced', ({ bounced }) => bounced),
      () =>
        scoped(
          'opened',
          interactions(() => true),
        ),
      () =>
        scoped(
          'clicked',
          interactions((kind) => kind === 'click'),
        ),
      () =>
        scoped(
          'answered',
          interactions((kind) => kind !== 'click' && kind !== 'open'),
        ),
      () => numberTests('score', ({ score }) => [score?.points ?? 0], [0, 1, 2.5, 10]),
      () => numberTests('deal.value', ({ deals }) => deals.map(({ value }) => value), [0, 10, 99.5]),
      () => textTests('deal.stage', ({ deals }) => deals.map(({ stage }) => stage), ['Lead', 'Won', 'l', '']),
      () => textTests('deal.status', ({ deals }) => deals.map(({ status }) => status), ['open', 'won', ''], true),
      () => {
        const id = random.pick(['1', '2'])
        const has = (one: Person) => one.webinars.some((own) => own.id === `web_${id}` && own.status !== 'cancelled')
        return random.pick([
          { text: `webinar = web_${id}`, holds: has },
          { text: `webinar != "Title web_${id}"`, holds: (one: Person) => !has(one) },
        ])
      },
      () => {
        const id = random.pick(['1', '2'])
        const has = (one: Person) => one.courses.some((own) => own.id === `crs_${id}` && own.active)
        return { text: `course = "Title crs_${id}"`, holds: has }
      },
      () => {
        const has = (one: Person, id: string) => !one.left.some((left) => left === '' || left === id)
        const id = random.pick(['top_1', 'top_2'])
        return random.pick([
          { text: `topic = "Topic ${id}"`, holds: (one: Person) => has(one, id) },
          { text: `topic != "Topic ${id}"`, holds: (one: Person) => !has(one, id) },
          {
            text: 'topic in ("Topic top_1", "Topic top_2")',
            holds: (one: Person) => has(one, 'top_1') || has(one, 'top_2'),
          },
        ])
      },
    ])()

  let comparisons = 0
  const counted = () => {
    comparisons++
    return comparison()
  }
  const negatable = (depth: number): Test => {
    const { text, holds } = depth > 0 && random.next() < 0.4 ? group(depth - 1) : counted()
    return random.next() < 0.25 ? { text: `not ${text}`, holds: (one) => !holds(one) } : { text, holds }
  }
  const conjunction = (depth: number): Test => {
    const all = Array.from({ length: random.between(1, 3) }, () => negatable(depth))
    return { text: all.map(({ text }) => text).join(' and '), holds: (one) => all.every(({ holds }) => holds(one)) }
  }
  const filter = (depth: number): Test => {
    const any = Array.from({ length: random.between(1, 3) }, () => conjunction(depth))
    return { text: any.map(({ text }) => text).join(' or '), holds: (one) => any.some(({ holds }) => holds(one)) }
  }
  const group = (depth: number): Test => {
    const { text, holds } = filter(depth)
    return { text: `(${text})`, holds }
  }
  /** Returns a filter of at most 100 comparisons and 4,000 characters. */
  const short = (): Test => {
    for (;;) {
      comparisons = 0
      const test = filter(2)
      if (comparisons <= 100 && test.text.length <= 4000) return test
    }
  }
  return { filter: short, comparison, values }
}

describe('random filters', () => {
  test('SQL finds whom JS finds, by lookups and by sets; not is the complement', async () => {
    const random = randomOfTest()
    const { filter, comparison, values } = filters(random)
    const some = <T>(most: number, make: () => T): T[] => Array.from({ length: random.between(0, most) }, make)
    const time = () => ago(random.pick([0, 1, 23, 24, 25, 48, 24 * 10, 24 * 30, 24 * 30 + 1, 24 * 100]))
    const mail = () => ({ at: time(), ...random.pick(mails) })
    const mails = [
      { project: 'prj_1', broadcast: null },
      { project: 'prj_2', broadcast: null },
      { project: 'prj_2', broadcast: 'bct_1' },
      { project: 'prj_2', broadcast: 'bct_2' },
    ]
    const anyone = (email: string): Person => ({
      email,
      status: random.pick(['active', 'pending']),
      verification: random.pick(['valid', 'risky', 'invalid', 'unknown', null]),
      fields: Object.fromEntries(columns.filter(() => random.next() < 0.7).map((name) => [name, random.pick(values)])),
      ...{ created: time(), updated: time(), sent: some(2, mail), bounced: some(1, mail) },
      interactions: some(5, () => {
        const kind = random.pick(['open', 'click', 'vote', 'rating'])
        const own = { ...{ kind, isBot: random.next() < 0.2 }, ...mail() }
        if (kind === 'open') return own
        if (kind === 'click') return { ...own, block: 'q', value: `https://acme.test/${random.pick(['a', 'b'])}` }
        // The times of answers differ.
        const at = new Date(own.at.getTime() - random.between(1, 1e6))
        return {
          ...own,
          at,
          block: random.pick(['q', 'r']),
          value: kind === 'vote' ? random.pick(['Yes', 'No']) : random.pick([3, 4]),
        }
      }),
      events: some(3, () => ({ name: random.pick(['a', 'b.c']), at: time() })),
      suppressed: (['complained', 'bounced', 'manual'] as const).filter(() => random.next() < 0.2),
      isInOthers: random.next() < 0.5,
      score: random.pick([null, { points: random.pick([0, 1, 2.5, 10]), at: now }]),
      deals: some(2, () => {
        const stage = random.pick(['Lead', 'Talks', 'Won', 'Lost'])
        const status = stage === 'Won' ? 'won' : stage === 'Lost' ? 'lost' : 'open'
        return { stage, status, value: random.pick([0, 10, 99.5, 1000]) }
      }),
      webinars: ['web_1', 'web_2']
        .filter(() => random.next() < 0.5)
        .map((id) => ({ id, status: random.pick(['confirmed', 'waitlisted', 'cancelled']) })),
      courses: ['crs_1', 'crs_2'].filter(() => random.next() < 0.5).map((id) => ({ id, active: random.next() < 0.5 })),
      left: ['', 'top_0', 'top_1', 'top_2'].filter(() => random.next() < 0.25),
    })
    const people = Array.from({ length: 40 }, (_, i) =>
      anyone(i === 0 ? 'no-domain' : `p${i}@${random.pick(['acme.test', 'beta.test', 'Ünï.test'])}`.toLowerCase()),
    )
    const account = await t.account()
    const list = await writePeople(t, account, people, { mark: 'r' })
    await t.app.work(account.id, 'cli:test', async (w) => {
      await createSegment(w, { name: 'Pro', list, where: 'plan = pro' })
      await createSegment(w, { name: 'Others clicked', list: 'Others', where: 'clicked is not empty' })
      await createSegment(w, { name: 'Both', list, where: 'segment in (Pro, "Others clicked")' })
    })
    const stranger = await t.account()
    const others = people.map(({ email }) => anyone(email))
    await writePeople(t, stranger, others, { mark: 's' })
    for (let i = 0; i < 150; i++) {
      const { text, holds } = i < 50 ? comparison() : filter()
      const emails = people.filter(holds).map(({ email }) => email)
      const marked = text.replaceAll(/\b(bct|web|crs)_(\d)(?!")/g, '$1_$2r')
      await expectMatching(account, list, marked, emails)
      const rest = people.filter((one) => !holds(one)).map(({ email }) => email)
      await expectMatching(account, list, `not (${marked})`, rest)
    }
  })
})

describe('pages', () => {
  test('pages of a filter have each contact once, in each list, or in all lists', async () => {
    const account = await t.account()
    const people = Array.from({ length: 25 }, (_, i) =>
      person(`p${10 + i}@acme.test`, { fields: { plan: i % 3 ? 'pro' : '' } }),
    )
    const list = await writePeople(t, account, people, { mark: 'p' })
    const expected = people.filter(({ fields }) => fields.plan === 'pro').map(({ email }) => email)
    for (const limit of [1, 7, 16, 17])
      expect((await matching(account, list, 'plan = pro', limit)).emails).toEqual(expected)
    const everywhere = await t.app.work(account.id, 'cli:test', async (w) => {
      const selected = await narrow(w, { where: 'plan = pro and deal.status is empty' })
      return listContacts(w, { ...selected, limit: 50 })
    })
    expect(everywhere.rows.map(({ email }) => email)).toEqual(expected)
    const { condition } = await t.app.work(account.id, 'cli:test', (w) => narrow(w, { list, where: 'plan = pro' }))
    const exported: string[] = []
    for await (const rows of exportContacts(t.app, account.id, list, condition))
      exported.push(...rows.map(({ email }) => email))
    expect(exported).toEqual(expected)
  })
})

describe('the largest filters', () => {
  test('100 comparisons of every kind run as pages and as a count', async () => {
    const account = await t.account()
    const list = await writePeople(t, account, [person('ada@acme.test')], { mark: 'l' })
    const where = Array.from({ length: 100 }, (_, i) => `${['opened', 'sent', 'clicked'][i % 3]} > ${i + 1}h`).join(
      ' or ',
    )
    await expectMatching(account, list, where, [])
    await expectMatching(account, list, `not (${where})`, ['ada@acme.test'])
    const segment = (w: string) =>
      t.app.work(account.id, 'cli:test', (work) => createSegment(work, { name: 'x', list, where: w }))
    await expect(segment(`${'plan = a or '.repeat(10_000)}plan = a`)).rejects.toMatchObject({ kind: 'invalid' })
  })
})
