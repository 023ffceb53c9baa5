import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { startDeliveries } from '../support/deliveries.ts'
import { openReceiver } from '../support/receiver.ts'

let account: TestAccount

const target = useApp()
beforeEach(async () => {
  account = await target.account()
})

const subscriptions = () => target.app.sql('select from webhooks where account_id = $1', [account.id])

test.each([
  [['--events', 'contact.created,nope'], 'There is no event type nope'],
  [['--reply', '99'], '--reply takes'],
  [['--reply', ''], '--reply takes'],
  [['--forward-to', 'localhost:3000'], '--forward-to takes'],
  [['--forward-to', 'http://localhost:3000', '--reply', '200'], 'either --forward-to'],
  [['--port', '65536'], '--port takes'],
])('%j is a usage error, and no subscription is created', async (args, sentence) => {
  const ran = await svc(target, ['listen', '--account', account.id, ...args])
  expect(ran).toMatchObject({ status: 2, stdout: '' })
  expect(ran.stderr).toContain(sentence)
  expect(await subscriptions()).toEqual([])
})

test('a port in use is reported in one line', async () => {
  const receiver = await openReceiver()
  const ran = await svc(target, ['listen', '--account', account.id, '--port', String(receiver.port)])
  expect(ran.status).toBe(4)
  expect(ran.stderr).toBe(
    `error: Port ${receiver.port} is taken\n  next: choose another port with --port, or omit it\n`,
  )
  await receiver.close()
})

test('without a daemon it does not become Ready and reports what is missing', async () => {
  const ran = await svc(target, ['listen', '--account', account.id])
  expect(ran).toMatchObject({ status: 7, stdout: '' })
  expect(ran.stderr).toMatch(/^error: No daemon runs the jobs .*\n {2}next: svc dev/)
  expect(ran.stderr).not.toContain('Ready')
  expect(await subscriptions()).toEqual([])
})

test('with a daemon that may not reach this machine it does not become Ready and names the setting', async () => {
  const deliveries = startDeliveries(target.app)
  onTestFinished(() => deliveries.stop())
  const ran = await svc(target, ['listen', '--account', account.id])
  expect(ran.status).toBe(4)
  expect(ran.stderr).toContain('SVC_ALLOW_PRIVATE_WEBHOOKS=127.0.0.0/8')
})
