import { expect, test } from 'vitest'
import { advanceClock } from '../../src/store/clock.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/eventually.ts'
import { journeyBench } from '../support/journeys.ts'

const target = useApp({ env: { SVC_LOG_LEVEL: 'error' }, development: true })

test('an unexpected error is logged with the id of the run, and shown with the run', async () => {
  const bench = await journeyBench(target)
  const listId = await bench.list('Leads')
  const trigger = { kind: 'list-added', list: 'Leads' }
  await bench.apply({ name: 'Faulty', trigger, steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }] })
  await target.app.sql(`create function fail() returns trigger language plpgsql as $$ begin raise 'no luck'; end $$`)
  await target.app.sql('create trigger fail before update on contacts for each row execute function fail()')
  const daemon = await startDaemon(target)
  await bench.add(listId, ['a@example.com'])
  const shown = async () =>
    (await svc(target, ['--account', bench.account.id, 'journeys', 'runs', 'Faulty', '--json'])).json.runs[0]
  await eventually(async () => (await shown()).tries > 0)
  const run = await shown()
  expect(run).toMatchObject({ status: 'running', tries: 1, lastFault: 'no luck' })
  const line = daemon
    .log()
    .split('\n')
    .find((text) => text.includes(run.id))
  expect(JSON.parse(line!)).toMatchObject({ level: 50, job: 'journeys', runId: run.id, err: { message: 'no luck' } })
  await target.app.sql('drop function fail() cascade')
  await advanceClock(target.app.database, 60_000)
  await eventually(async () => (await shown()).status === 'completed')
})
