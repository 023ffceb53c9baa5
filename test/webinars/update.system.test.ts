import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { ok, useApp } from '../support/app.ts'
import { startSvc, svc } from '../support/cli.ts'
import { untilLocked } from '../support/database.ts'
import { sendingAccount } from '../support/messages.ts'
import { hour, mailed, mailsOf, makeWebinar, register, webinarOf } from './support.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })

test('kill -9 between the change and its emails leaves neither; the next call does both once', async () => {
  const account = await sendingAccount(t)
  const now = Date.now()
  const { id } = await makeWebinar(t, account, { scheduledAt: now + 48 * hour })
  await ok(register(t, account, id, 'ada@people.example'))
  const before = [await webinarOf(t, account, id), await mailed(t, account)]
  const update = ['webinars', 'update', id, '--at', `${now + 72 * hour}`, '--yes', '--account', account.id]
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('lock table messages in share mode')
  const child = startSvc(t, update)
  const exited = once(child, 'exit')
  await untilLocked(t.app.database, 1)
  child.kill('SIGKILL')
  expect((await exited)[1]).toBe('SIGKILL')
  await session.query('commit')
  expect([await webinarOf(t, account, id), await mailed(t, account)]).toEqual(before)
  expect((await svc(t, update)).status).toBe(0)
  const keys = (await mailsOf(t, account)).map(({ key }) => key?.replace(/:reg_\w+/, ''))
  expect(keys.filter((key) => key?.startsWith('moved'))).toEqual(['moved:1'])
})
