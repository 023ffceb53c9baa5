// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeEach, expect, test } from 'vitest'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { findJourney, hasMoreRuns, sidesOf } from '../../src/journeys/journeys.ts'
import { addSender } from '../../src/senders/senders.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'
import { plainProject, plainProjects } from '../support/projects.ts'

const clock = testClock()
const studio = plainProjects()
let bench: JourneyBench
let listId: string
let projectId: string

const target = useApp({ now: clock.now, projects: studio.projects, env: { SVC_SMTP_URL: 'smtp://127.0.0.1:1' } })
beforeEach(async () => {
  await target.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('example.com', 'mx', '2030-01-01') on conflict do nothing`,
  )
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
  projectId = await bench.work(async (work) => {
    await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
    return (await applyProjects(work, [plainProject('Welcome')]))[0]!.id!
  })
  studio.add(bench.account.id, projectId, 'Welcome')
})

const mail = (subject: string) => ({ kind: 'send-email', project: 'Welcome', subject })
const apply = (steps: object[]) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, reentry: 'always', steps })
const sides = () => bench.work(async (work) => sidesOf(work, await findJourney(work, 'J')))

/** The messages by subject, in the order of their addresses, after all were sent. */
const delivered = async (): Promise<Map<string, { id: string; email: string }[]>> => {
  await target.app.sql(
    `update messages set status = 'sent', finished_at = $2 where account_id = $1 and status = 'pending'`,
    [bench.account.id, clock.now()],
  )
  await target.app.sql('delete from message_queue where account_id = $1', [bench.account.id])
  const rows = await target.app.sql<{ id: string; email: string; subject: string }>(
    `select id, email, subject from messages where account_id = $1 and status = 'sent' order by email, id`,
    [bench.account.id],
  )
  return Map.groupBy(rows, ({ subject }) => subject)
}

const interact = (mails: readonly { id: string; email: string }[], kind: string, isBot = false) =>
  target.app.sql(
    `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
     select $1, m.id, $3, 'b', '', $4, m.id || $3, $5, m.email, '1', $6 from jsonb_to_recordset($2) as m(id text, email text)`,
    [bench.account.id, JSON.stringify(mails), kind, isBot, projectId, clock.now()],
  )

const emails = (from: number, count: number) => Array.from({ length: count }, (_, i) => `p${from + i}@example.com`)

test('each side of a split has its runs, its emails, and the people who did something with them', async () => {
  await apply([
    mail('Before'),
    { kind: 'split', percent: 50, a: [mail('A1'), { kind: 'delay', for: '1d' }, mail('A2')], b: [mail('B')] },
    mail('After'),
  ])
  await bench.add(listId, emails(10, 40))
  await bench.drain()
  const early = await delivered()
  clock.advance(day)
  await bench.drain()
  const mails = await delivered()
  const [inA, inB] = [mails.get('A1')!, mails.get('B')!]
  expect(inA.length + inB.length).toBe(40)
  expect(early.get('A2')).toBeUndefined()
  // What people do with emails outside of the side does not count, nor what machines do. Each person counts once.
  for (const kind of ['open', 'click', 'vote']) await interact(mails.get('Before')!, kind)
  await interact(mails.get('After')!, 'click')
  await interact(inB, 'open', true)
  await interact(inA.slice(0, 3), 'open')
  await interact(mails.get('A2')!.slice(2, 4), 'click')
  await interact(inB.slice(0, 1), 'rating')
  const split = { version: 1, step: 'steps[1]', kind: 'split', summary: '50 % take a' }
  const ofA = { side: 'a', runs: inA.length, sent: 2 * inA.length, opened: 4, clicked: 2, answered: 0 }
  const ofB = { side: 'b', runs: inB.length, sent: inB.length, opened: 1, clicked: 0, answered: 1 }
  expect(await sides()).toEqual([
    { ...split, ...ofA },
    { ...split, ...ofB },
  ])
  // Somebody whose address was erased is no person any more.
  await target.app.sql(`update messages set email = '' where id = $1`, [inA[0]!.id])
  await target.app.sql('delete from interactions where message_id = $1', [inA[0]!.id])
  expect((await sides())[0]).toEqual({ ...split, ...ofA, opened: 3 })
})

test('branches and waits count too, also inside of sides, and emails that failed are not sent', async () => {
  const wait = {
    ...{ kind: 'wait-for', event: 'deal.created', timeout: '1d' },
    ...{ then: [mail('Came')], else: [{ kind: 'branch', where: 'plan = pro', then: [mail('Pro')], else: [] }] },
  }
  await apply([{ kind: 'branch', if: { field: 'plan', exists: true }, then: [wait], else: [mail('None')] }])
  await bench.add(listId, ['a@example.com', 'b@example.com'], { plan: 'pro' })
  await bench.add(listId, ['c@example.com'], { plan: 'x' })
  await bench.add(listId, ['d@example.com'])
  await bench.drain()
  await bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com' }), { source: 'api' }))
  clock.advance(day)
  await bench.drain()
  await target.app.sql(`update messages set status = 'failed' where account_id = $1 and email = 'd@example.com'`, [
    bench.account.id,
  ])
  await interact((await delivered()).get('Pro')!, 'open')
  const counts = (await sides()).map(({ step, side, runs, sent, opened }) => [step, side, runs, sent, opened])
  expect(counts).toEqual([
    ['steps[0]', 'then', 3, 2, 1],
    ['steps[0]', 'else', 1, 0, 0],
    ['steps[0].then[0]', 'then', 1, 1, 0],
    ['steps[0].then[0]', 'else', 2, 1, 1],
    ['steps[0].then[0].else[0]', 'then', 1, 1, 1],
    ['steps[0].then[0].else[0]', 'else', 1, 0, 0],
  ])
})

test('older versions follow as far as runs passed them, and a journey without sides has none', async () => {
  const split = (percent: number) => ({ kind: 'split', percent, a: [mail('A')], b: [] })
  await apply([split(100)])
  await bench.add(listId, ['a@example.com'])
  await bench.drain()
  await apply([{ kind: 'delay', for: '1d' }, split(0)])
  const shown = async () =>
    (await sides()).map(({ version, step, summary, side, runs }) => [version, step, summary, side, runs])
  expect(await shown()).toEqual([
    [2, 'steps[1]', '0 % take a', 'a', 0],
    [2, 'steps[1]', '0 % take a', 'b', 0],
    [1, 'steps[0]', '', 'a', 1],
    [1, 'steps[0]', '', 'b', 0],
  ])
  await bench.apply({ name: 'J', trigger: { kind: 'manual' }, steps: [mail('Only')] })
  expect(await shown()).toEqual([
    [1, 'steps[0]', '', 'a', 1],
    [1, 'steps[0]', '', 'b', 0],
  ])
})

test('another account with equal content has results of its own', async () => {
  await apply([{ kind: 'split', percent: 100, a: [mail('A')], b: [] }])
  await bench.add(listId, ['a@example.com'])
  await bench.drain()
  const journey = await bench.work((work) => findJourney(work, 'J'))
  const other = await target.account()
  const foreign = await target.app.work(other.id, 'cli:test', (work) => sidesOf(work, journey))
  expect(foreign.map(({ runs }) => runs)).toEqual([0, 0])
})

test('only the newest runs are counted, and whether there are more is known', async () => {
  await apply([{ kind: 'split', percent: 100, a: [mail('A')], b: [] }])
  await bench.add(listId, emails(1, 3))
  await bench.drain()
  const counted = (most: number) =>
    bench.work(async (work) => {
      const journey = await findJourney(work, 'J')
      const [a] = await sidesOf(work, journey, most)
      return [a!.runs, await hasMoreRuns(work, journey.id, most)]
    })
  expect([await counted(2), await counted(3), await counted(4)]).toEqual([
    [2, true],
    [3, false],
    [3, false],
  ])
})
