import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/draw/draw.ts'
import { createList, leaveList, writeContacts } from '../../src/contacts/contacts.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { drawStats } from '../../src/stats/stats.screen.commands.ts'
import { readStats } from '../../src/stats/stats.ts'
import type { Work } from '../../src/store/work.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { randomOfTest } from '../support/random.ts'
import { openReceiver } from '../support/receiver.ts'

const dayMs = 86_400_000
const t = useApp({ development: true, env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32' } })
let account: TestAccount

const inWork = <T>(run: (work: Work) => Promise<T>, of = account): Promise<T> => t.app.work(of.id, 'cli:test', run)
const run = (...args: string[]) => svc(t, ['stats', '--account', account.id, ...args])
const person = (name: string) => `${name}@people.example`

/** Fills an account with three contacts, of which one left, and three deals. */
const fill = async (of: TestAccount): Promise<void> => {
  await inWork(async (work) => {
    const { id } = await createList(work, { name: 'People' })
    const people = ['ada', 'bob', 'eve'].map((name) => ({ email: person(name), fields: {} }))
    await writeContacts(work, id, people, new Map())
    await leaveList(work, id, person('eve'))
    await suppressAddresses(work, [person('eve')], 'bounced')
  }, of)
  for (const [value, currency] of [
    [10.25, 'EUR'],
    [2.25, 'EUR'],
    [7, 'USD'],
  ] as const) {
    const input = NewDeal.parse({ title: 'Deal', email: person('ada'), value, currency })
    await inWork((work) => createDeal(work, input, { source: 'api' }), of)
  }
}

beforeAll(async () => {
  account = await t.account({ name: 'Shop' })
  await fill(account)
  await fill(await t.account())
  const receiver = await openReceiver()
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 3)
  const loop = startDeliveries(t.app)
  await eventually(async () => (await t.app.sql('select from pending_deliveries')).length === 0)
  await loop.stop()
  await receiver.close()
})

test('svc stats --json has the numbers of the account, from all features', async () => {
  const { json, status, stderr } = await run('--json')
  expect([status, stderr]).toEqual([0, ''])
  const to = (Math.floor(t.app.now().getTime() / dayMs) + 1) * dayMs
  expect(json).toEqual({
    ...{ from: to - 30 * dayMs, to },
    contacts: { total: 2, added: 3, left: 1 },
    mail: expect.objectContaining({ sent: 0, delivered: 0, opened: 0, links: [] }),
    deals: { open: 3, won: 0, lost: 0, value: { EUR: 12.5, USD: 7 } },
    deliveries: { delivered: 3, exhausted: 0, p50Ms: expect.any(Number), p99Ms: expect.any(Number) },
    quotas: (await svc(t, ['accounts', 'usage', '--account', account.id, '--json'])).json.usage,
  })
})

test.each(['0', '367', '-1', '1.5', 'x', ''])('--days %j is refused', async (days) => {
  const message = expect.stringContaining('--days must be 1 to 366')
  expect(await run(`--days=${days}`)).toMatchObject({ status: 2, stderr: message })
})

test('in a pipe there are lines with tabs, and no charts', async () => {
  const { stdout } = await run('--days', '7')
  expect(stdout).toContain('contacts added\t3\n')
  expect(stdout).toContain('deals value EUR\t12.5\n')
  expect(stdout).not.toMatch(/[▁-█░·]/)
})

describe('drawStats', () => {
  const read = () => inWork((work) => readStats(work, 30))
  const canvas = { columns: 80, isColoured: false, isAscii: false }

  test.each([40, 75, 80, 131, 160, 300])('fits %i cells, and 24 lines where there are two columns', async (columns) => {
    const random = randomOfTest()
    const { stats, byDay } = await read()
    const links = Array.from({ length: 12 }, (_, i) => ({
      ...{ url: `https://shop.example/${'語'.repeat(i)}\u001b[2J${i}`, clicks: random.between(0, 1e6), people: 1 },
    }))
    const value = { EUR: 1e9, USD: 12.5, JPY: 7 }
    const big = { ...stats, mail: { ...stats.mail, sent: 123_456_789, links }, deals: { ...stats.deals, value } }
    for (const [one, isColoured] of [
      [stats, false],
      [big, true],
    ] as const) {
      const lines = drawStats('A shop with a long name \u001b[2J 日本語', one, byDay, {
        ...canvas,
        columns,
        isColoured,
      })
      for (const line of lines) {
        expect(widthOf(stripVTControlCharacters(line)), line).toBeLessThanOrEqual(columns)
        expect(line).not.toContain('\u001b[2J')
      }
      if (columns >= 76) expect(lines.length).toBeLessThanOrEqual(22)
      for (const word of ['Contacts', 'Email', 'Deals', 'Webhook deliveries', 'Plan', 'unsubscribed', 'sendApiCalls'])
        expect(lines.join('\n')).toContain(word)
    }
  })

  test('is ASCII where the terminal has nothing else', async () => {
    const { stats, byDay } = await read()
    // The heading has a dash between two dates, as every text may.
    const [, ...lines] = drawStats('Shop', stats, byDay, { ...canvas, isAscii: true })
    expect(lines.join('\n')).toMatch(/^[\n\x20-\x7e]*$/)
    expect(lines.join('\n')).toContain('@')
  })
})

describe('on a terminal', () => {
  const taken = '\u001b[?1049h'
  const tty = { columns: 80, rows: 24 }

  test('--watch takes the screen, and q gives it back', async () => {
    const { status, text } = await svc(t, ['stats', '--account', account.id, '--watch'], {
      tty,
      steps: [['Contacts', 'q']],
    })
    expect(status).toBe(0)
    expect(text).toContain(taken)
    expect(text).toContain('\u001b[?1049l')
    const shown = stripVTControlCharacters(text)
    expect(shown).not.toContain('scroll')
  })

  test('--watch --json prints the numbers, and takes no screen', async () => {
    const { text } = await svc(t, ['stats', '--account', account.id, '--watch', '--json'], {
      tty,
      steps: [[/"contacts"|q quit/, '\u0003']],
    })
    expect(text).not.toContain(taken)
  })

  test('without --watch it prints the screen once', async () => {
    const { status, text } = await svc(t, ['stats', '--account', account.id], { tty })
    expect(status).toBe(0)
    expect(text).not.toContain(taken)
    expect(text).toMatch(/added +3 +·+█/)
  })
})

// Last: it moves the clock.
test('--days counts whole UTC days, the current one included', async () => {
  const of = await t.account()
  const list = await inWork((work) => createList(work, { name: 'People' }), of)
  const add = (email: string) => inWork((work) => writeContacts(work, list.id, [{ email, fields: {} }], new Map()), of)
  const added = async (days: number) => {
    const { stats, byDay } = await inWork((work) => readStats(work, days), of)
    return [stats.contacts.added, ...byDay.contacts.added]
  }
  await t.advance(2 * dayMs - (t.app.now().getTime() % dayMs) - 20_000)
  await add(person('late'))
  await t.advance(20_000)
  await add(person('early'))
  await add(person('second'))
  expect(await added(1)).toEqual([2, 2])
  expect(await added(2)).toEqual([3, 1, 2])
  expect(await added(3)).toEqual([3, 0, 1, 2])
  await t.advance(dayMs)
  expect(await added(2)).toEqual([2, 2, 0])
})
