import { afterAll, expect, test } from 'vitest'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { type TestApp, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'

const day = 86_400_000

const opened: OpenApp[] = []

const open = async (on: TestApp) => {
  const app = await openApp(readConfig(on.env), { connections: 2 })
  opened.push(app)
  return app
}

const aheadMs = (app: OpenApp) => app.now().getTime() - Date.now()

/** Expects an app to follow a moved clock without waiting for its next measurement, which it makes every minute. */
const follows = async (app: OpenApp, ms: number) => {
  const following = eventually(() => Math.abs(aheadMs(app) - ms) < 50)
  expect(await settlesWithin(following, 5000)).toBe(true)
}

const target = useApp()
const developed = useApp({ development: true })
afterAll(() => Promise.all(opened.map((app) => app.close())))

test('svc clock refuses to move the clock of a database that svc dev did not mark: exit 6', async () => {
  for (const args of [['clock'], ['clock', 'advance', '2d'], ['clock', 'reset']]) {
    const { status, stdout, stderr } = await svc(target, args)
    expect({ status, stdout }).toEqual({ status: 6, stdout: '' })
    expect(stderr).toMatch(/development/)
  }
  expect(Math.abs(aheadMs(await open(target)))).toBeLessThan(50)
})

test('every process that has opened a development database follows its clock at once', async () => {
  const [first, second] = [await open(developed), await open(developed)]
  const moved = await svc(developed, ['clock', 'advance', '2d', '--json'])
  expect(moved.json).toEqual({ now: expect.any(Number), offsetMs: 2 * day })
  for (const app of [first, second]) await follows(app, 2 * day)
  expect(Math.abs(aheadMs(await open(developed)) - 2 * day)).toBeLessThan(50)
  expect((await svc(developed, ['clock', 'advance', '59m60s', '--json'])).json.offsetMs).toBe(2 * day + 3_600_000)
  expect((await svc(developed, ['clock', '--json'])).json.offsetMs).toBe(2 * day + 3_600_000)
  expect((await svc(developed, ['clock', 'reset', '--json'])).json.offsetMs).toBe(0)
  for (const app of [first, second]) await follows(app, 0)
})

test.each(['', '2', '2y', '-2d', '1.5d'])('a duration of %j is refused: exit 2', async (duration) => {
  expect((await svc(target, ['clock', 'advance', '--', duration])).status).toBe(2)
})

test('the clock does not go beyond the year 9998, where everything would fail', async () => {
  const beyond = { status: 2, stdout: '', stderr: expect.stringContaining('beyond the year 9998') }
  expect(await svc(developed, ['clock', 'advance', '400000w', '--json'])).toMatchObject({ status: 0 })
  for (const flags of [[], ['--dry-run']])
    expect(await svc(developed, ['clock', 'advance', '20000w', '--json', ...flags])).toMatchObject(beyond)
  const two = await Promise.all([1, 2].map(() => svc(developed, ['clock', 'advance', '10000w', '--json'])))
  expect(two.map(({ status }) => status).toSorted()).toEqual([0, 2])
  const { id } = await developed.account()
  expect(await svc(developed, ['lists', 'create', '--name', 'Far', '--account', id])).toMatchObject({ status: 0 })
  expect(await svc(developed, ['clock', 'reset', '--json'])).toMatchObject({ status: 0, json: { offsetMs: 0 } })
})

test('a process on the same machine as the database uses exactly the clock of the database', async () => {
  const app = await open(target)
  const before = Date.now()
  const now = app.now().getTime()
  expect(now).toBeGreaterThanOrEqual(before)
  expect(now).toBeLessThanOrEqual(Date.now())
})

test('svc_now() returns the time of the database and follows the development clock to the millisecond', async () => {
  const ahead = async () => {
    const [row] = await developed.app.sql<{ micros: number }>(
      `select (extract(epoch from svc_now() - statement_timestamp()) * 1000000)::bigint as micros`,
    )
    return row!.micros
  }
  expect(await ahead()).toBe(0)
  for (const ms of [1, 86_400_001, 10 * 365 * day + 7]) {
    await developed.app.sql('update development_clock set offset_ms = $1', [ms])
    expect(await ahead()).toBe(ms * 1000)
  }
  await developed.app.sql('update development_clock set offset_ms = 0')
})
