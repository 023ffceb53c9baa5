import { once } from 'node:events'
import { expect, test } from 'vitest'
import { countOwned } from '../../src/accounts/accounts.ts'
import { useApp } from '../support/app.ts'
import { startSvc, svc } from '../support/cli.ts'
import { eventually } from '../support/deliveries.ts'
import { addDeliveries, nothing, remains } from './support.ts'

const t = useApp()
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0)

test('the same command continues after a kill; an interruption stops it after the current batch, with a note', async () => {
  const account = await t.account()
  await addDeliveries(t, account.id, 60_000)
  const args = ['accounts', 'delete', account.name, '--confirm', account.name, '--json']
  const isStarted = async (below: number) => (await countOwned(t.app, account.id)).ended_deliveries! < below
  const killed = startSvc(t, args)
  await eventually(() => isStarted(60_000))
  killed.kill('SIGKILL')
  await once(killed, 'close')
  await eventually(async () => {
    const [row] = await t.app.sql(
      `select from pg_stat_activity where application_name like 'svc cli %' and datname = current_database()`,
    )
    return !row
  })
  const left = await countOwned(t.app, account.id)
  expect(left.ended_deliveries).toBeGreaterThan(0)
  const stopped = startSvc(t, args)
  let out = ''
  stopped.stdout.on('data', (text) => {
    out += text
  })
  let told = ''
  stopped.stderr.on('data', (text) => {
    told += text
  })
  await eventually(() => isStarted(left.ended_deliveries!))
  stopped.kill('SIGINT')
  expect((await once(stopped, 'close'))[0]).toBe(130)
  expect(told).toContain('Run the same command again to continue')
  const rest = await countOwned(t.app, account.id)
  expect(sum(JSON.parse(out).deleted)).toBe(sum(left) - sum(rest))
  const ran = await svc(t, args)
  expect(ran).toMatchObject({ status: 0, json: { id: account.id, deleted: rest } })
  expect(await remains(t, account)).toEqual(nothing)
})
