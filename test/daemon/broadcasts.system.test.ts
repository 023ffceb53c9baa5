import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../support/app.ts'
import { audience } from '../support/broadcasts.ts'
import { startSvc, svc } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
import { openSink, type Sink } from '../support/smtp.ts'

const people = 4000

let t: TestApp
let sink: Sink
const daemons: Daemon[] = []

beforeAll(async () => {
  // Nothing is sent, because the test checks the queue.
  sink = await openSink()
  sink.always({ hang: 'connect' })
  t = await startApp({ env: { SVC_SMTP_URL: sink.url, SVC_LOG_LEVEL: 'error' } })
})
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.kill('SIGKILL')))
})
afterAll(async () => {
  await t.close()
  await sink.close()
})

test('kill -9 of the command and of a daemon while they queue messages loses none and repeats none', async () => {
  const who = await audience(t, people)
  const queued = async () => {
    const [row] = await t.app.sql<{ count: number; addresses: number }>(
      'select count(*) as count, count(distinct email) as addresses from messages where account_id = $1',
      [who.account.id],
    )
    return row!
  }
  // Slows the queueing down, so that a kill hits it halfway.
  await t.app.sql(`create function linger() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.1); return new; end $$`)
  await t.app.sql('create trigger linger before update on broadcasts for each row execute function linger()')
  const args = ['broadcasts', 'create', '--list', 'People', '--project', 'Spring', '--send', '--yes']
  const command = startSvc(t, [...args, '--account', who.account.id])
  await eventually(async () => (await queued()).count >= 1000)
  command.kill('SIGKILL')
  const first = await startDaemon(t)
  daemons.push(first)
  await eventually(async () => (await queued()).count >= 2000)
  await first.kill('SIGKILL')
  expect((await queued()).count).toBeLessThan(people)
  daemons.push(await startDaemon(t))
  await eventually(async () => (await queued()).count === people)
  expect(await queued()).toEqual({ count: people, addresses: people })
  const { json } = await svc(t, ['broadcasts', 'list', '--account', who.account.id, '--json'])
  const { recipients, queued: waiting, sent, failed } = json.broadcasts[0]
  expect([recipients, waiting + failed, sent]).toEqual([people, people, 0])
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [
    who.account.id,
  ])
  expect(use).toEqual({ used: people })
})
