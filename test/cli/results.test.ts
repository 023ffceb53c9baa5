import { beforeAll, expect, test } from 'vitest'
import { createBroadcast, NewBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { drawCounts, drawResults } from '../../src/cli/draw/draw.results.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { type EngagedAccount, engagedAccount, person, sendProject, useEngaged } from '../support/engagement.ts'

const { t, sink } = useEngaged()
let account: EngagedAccount
let clicked: string

beforeAll(async () => {
  account = await engagedAccount(t)
  const mail = await sendProject(t, sink, account)
  clicked = (await t.request('GET', mail.clicks[0]!, { headers: person })).headers.location as string
})

const numbers = {
  ...{ sent: 1, delivered: 1, opened: 1, clicked: 1, answered: 0, unsubscribed: 0 },
  ...{ bounced: 0, complained: 0, failed: 0, cancelled: 0, suppressed: 0 },
}

test('projects show --stats has the results of its emails, beside the properties that it has without', async () => {
  const show = (...flags: string[]) =>
    svc(t, ['projects', 'show', account.projectId, '--account', account.id, '--json', ...flags])
  const { json } = await show('--stats')
  const { stats, ...project } = json as Record<string, unknown>
  expect(stats).toEqual({
    ...numbers,
    links: [{ url: clicked, clicks: 1, people: 1 }],
    days: [{ date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), ...numbers }],
  })
  expect((await show()).json).toEqual(project)
})

test('broadcasts show has the results of a draft too: all 0', async () => {
  const { id } = await t.app.work(account.id, 'cli:test', async (work) => {
    await createList(work, { name: 'People' })
    return createBroadcast(work, NewBroadcast.parse({ list: 'People', project: account.projectId }))
  })
  const { json } = await svc(t, ['broadcasts', 'show', id, '--account', account.id, '--json'])
  expect(json).toMatchObject({ id, status: 'draft', sent: 0, rates: { opened: null }, average: null })
  expect(Object.keys(json.stats).toSorted()).toEqual([...Object.keys(numbers), 'days', 'links'].toSorted())
})

test('opens and clicks of machines stand apart from those of people, and only where there are any', async () => {
  const own = await engagedAccount(t)
  const mail = await sendProject(t, sink, own)
  const { id } = await t.app.work(own.id, 'cli:test', async (work) => {
    await createList(work, { name: 'People' })
    return createBroadcast(work, NewBroadcast.parse({ list: 'People', project: own.projectId }))
  })
  // Its email is one of the broadcast.
  await t.app.sql('update messages set key = $3 where account_id = $1 and id = $2', [
    own.id,
    mail.id,
    `broadcast:${id}:1`,
  ])
  const show = async (...args: string[]) => (await svc(t, [...args, '--account', own.id, '--json'])).json
  const project = ['projects', 'show', own.projectId, '--stats']
  const commands = [['sends', 'show', mail.id], ['broadcasts', 'show', id], project, ['stats']]
  for (const command of commands) expect(await show(...command)).not.toHaveProperty('machines')
  const bot = { 'user-agent': 'Googlebot/2.1' }
  for (const path of [mail.open, mail.open, ...mail.clicks, ...mail.clicks])
    await ok(t.request('GET', path, { headers: bot }), path === mail.open ? 200 : 302)
  await ok(t.request('GET', mail.clicks[0]!, { headers: person }), 302)
  const machines = { opens: 1, clicks: mail.clicks.length }
  for (const command of commands) expect([command, (await show(...command)).machines]).toEqual([command, machines])
  expect((await show('broadcasts', 'show', id)).stats).toMatchObject({ opened: 1, clicked: 1 })
  const { body } = await ok(t.request('GET', `/broadcasts/${id}`, { key: own.key }))
  expect(body.broadcast.machines).toEqual(machines)
  const drawn = await svc(t, ['sends', 'show', mail.id, '--account', own.id], { tty: {} })
  expect(drawn.text).toMatch(new RegExp(`by machines +1 open, ${mail.clicks.length} clicks`))
  expect((await svc(t, ['stats', '--account', own.id])).stdout).toContain('machines opens\t1\n')
  expect((await svc(t, ['stats', '--account', own.id], { tty: {} })).text).toMatch(/machines +1 open, \d clicks/)
})

test('results of a broadcast are drawn beside the average of the last ones', () => {
  const canvas = { columns: 100, isColoured: false, isAscii: true }
  const average = { broadcasts: 5, opened: 0.256, clicked: null, bounced: 0.01 }
  const results = { ...numbers, sent: 10, delivered: 9, bounced: 1, opened: 3, links: [], days: [], average }
  const lines = drawResults(results, canvas)
  const lineOf = (name: string) => lines.find((line) => line.startsWith(name))
  expect(lineOf('opened')).toMatch(/3 \(33\.3 %, average 25\.6 %\) {2}#/)
  expect(lineOf('clicked')).toMatch(/1 \(11\.1 %\) {2}#/)
  expect(lineOf('bounced')).toMatch(/1 \(10\.0 %, average 1\.0 %\) {2}#/)
  expect(lines).toContain('Average: of the last 5 broadcasts.')
  expect(drawResults({ ...results, average: { ...average, broadcasts: 1 } }, canvas)).toContain(
    'Average: of the last 1 broadcast.',
  )
  expect(drawResults({ ...results, sent: 0, delivered: 0 }, canvas).join()).not.toMatch(/[Aa]verage/)
})

test('results are drawn with rates, by day and by link, in lines that fit', () => {
  const day = { ...numbers, sent: 4, delivered: 3, bounced: 1, opened: 2 }
  const results = {
    ...day,
    links: Array.from({ length: 12 }, (_, i) => ({
      url: `https://example.com/${'a'.repeat(i * 9)}`,
      clicks: 12 - i,
      people: 1,
    })),
    days: [
      { date: '2026-11-22', ...day },
      { date: '2026-11-23', ...numbers, sent: 0, opened: 0, clicked: 0 },
    ],
  }
  for (const columns of [40, 80, 120]) {
    const lines = drawResults(results, { columns, isColoured: false, isAscii: false })
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns)
    const text = lines.join('\n')
    expect(text).toContain('2 (66.7 %)')
    expect(text).toContain('1 (25.0 %)')
    expect(text).toContain('2 more with --json')
  }
})

test('counts are drawn as bars, and by day if there are several', () => {
  const canvas = { columns: 40, isColoured: false, isAscii: false }
  const first = { date: '2026-11-22', submissions: 3, people: 0 }
  const counts = { submissions: 4, people: 0, days: [first, { date: '2026-11-23', submissions: 1, people: 0 }] }
  expect(drawCounts(counts, ['submissions', 'people'], canvas)).toEqual([
    `submissions  4  ${'█'.repeat(24)}`,
    'people       0',
    '',
    'By day, 2026-11-22 to 2026-11-23 (UTC):',
    'submissions  4  ███▃▃▃',
  ])
  expect(drawCounts({ ...counts, days: [first] }, ['people', 'submissions'], canvas)).toHaveLength(2)
})
