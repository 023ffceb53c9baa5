import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startApp, type TestApp, useApp } from '../support/app.ts'
import { spawnInTest } from '../support/children.ts'
import { svcProcess } from '../support/cli.ts'
import { callDaemon } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { skewedBy } from '../support/skew.ts'
import { limit } from '../support/slowness.ts'

const target = useApp()
const daemons = useDaemons(target)

/** The creation time of an id: ten characters of base 32 (lib/ids.ts). */
const timeOf = (id: string): number =>
  [...id.split('_')[1]!.slice(0, 10)].reduce(
    (ms, digit) => ms * 32 + '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(digit),
    0,
  )

/** Runs a script of the app in a process with the clock of `env` and returns its output. */
const runScript = async (body: string, env: Record<string, string>, on: TestApp = target) => {
  const root = join(import.meta.dirname, '../../src')
  const script = `
    const { openApp } = await import('${root}/app/app.ts')
    const { readConfig } = await import('${root}/app/config.ts')
    const app = await openApp(readConfig(), { connections: 2 })
    ${body}
    await app.close()`
  const child = spawnInTest(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: process.env.PATH ?? '', ...on.env, ...env },
  })
  child.stderr.pipe(process.stderr)
  const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(status).toBe(0)
  return JSON.parse(printed)
}

test.each([40_000, -40_000])('a process whose clock is %i ms ahead writes by the database clock', async (ms) => {
  const skewed = skewedBy(ms)
  const before = Date.now() - 5
  const account = await target.account()
  const list = await svcProcess(target, ['lists', 'create', '--account', account.id, '--name', 'L', '--json'], {
    env: skewed,
  })
  expect(list.status).toBe(0)
  const daemon = await daemons.start(['serve', '--no-jobs'], skewed)
  await target.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('skew.example', 'mx', now() + interval '1 day')
     on conflict do nothing`,
  )
  const body = { listId: list.json.id, email: 'a@skew.example' }
  expect((await callDaemon(daemon, 'POST', '/contacts', { key: account.key, body })).status).toBe(201)
  expect(await daemon.stop()).toBe(0)
  const [row] = await target.app.sql<{ createdAt: Date; rowId: string; listAt: Date }>(
    `select c.created_at as "createdAt", c.row_id as "rowId", l.created_at as "listAt"
     from contacts c join contact_lists l on l.id = c.list_id where c.account_id = $1`,
    [account.id],
  )
  const { createdAt, rowId, listAt } = row!
  for (const at of [createdAt.getTime(), timeOf(rowId), listAt.getTime(), timeOf(list.json.id)]) {
    expect(at).toBeGreaterThan(before)
    expect(at).toBeLessThan(Date.now() + 1000)
  }
})

test.each([40_000, -40_000])('systemNow remains the clock of the process, here %i ms ahead', async (ms) => {
  const body = `console.log(JSON.stringify([app.now().getTime(), app.systemNow().getTime() - Date.now()]))`
  const before = Date.now()
  const [now, system] = await runScript(body, skewedBy(ms))
  expect(now).toBeGreaterThan(before - 1000)
  expect(now).toBeLessThan(Date.now() + 1000)
  expect(Math.abs(system)).toBeLessThan(20_000)
})

test('a process notices a jump of its clock before its next measurement, which it makes every minute, also if a reading fails', async () => {
  // Not a development database: its clock notifications would trigger a new measurement.
  const plain = await startApp()
  const body = `
    const { openClock } = await import('${join(import.meta.dirname, '../../src/store/clock.ts')}')
    let failing = 0
    const sql = (...given) => (failing-- > 0 ? Promise.reject(new Error('The connection is lost')) : app.database.sql(...given))
    const clock = await openClock({ ...app.database, sql })
    failing = 1
    globalThis.skewMs = 40_000
    const since = performance.now()
    const jumped = clock.now().getTime() - Date.now()
    const deadline = since + ${limit(30_000)}
    while (clock.now().getTime() - Date.now() > -39_000 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 100))
    console.log(JSON.stringify({ jumped, after: clock.now().getTime() - Date.now() }))
    await clock.close()`
  const { jumped, after } = await runScript(body, skewedBy(0), plain)
  await plain.close()
  expect(Math.abs(jumped)).toBeLessThan(20_000)
  expect(Math.abs(after + 40_000)).toBeLessThan(1000)
})
