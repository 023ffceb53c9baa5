import { expect, test } from 'vitest'
import { verify } from '../../src/lib/signature.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { callDaemon, startDaemon } from '../support/daemon.ts'
import { deliveriesOf, emitEvents, eventually, subscribe, tally } from '../support/deliveries.ts'
import { freeform, messagesOf, queueMany, sendingAccount, tallyMessages } from '../support/messages.ts'
import { keyOf } from '../support/neighbours.ts'
import { useReceiver } from '../support/receiver.ts'
import { useSink } from '../support/smtp.ts'

/* What one process can't show: a daemon starts, works with a command beside it, is killed, resumes, and stops. */

const receiver = useReceiver()
const sink = useSink()
const t = useApp(() => ({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: sink.url } }))

test('a daemon imports, posts and sends; kill -9 in the middle loses and repeats nothing that the rules exclude; SIGTERM drains it', async () => {
  const account = await sendingAccount(t)
  const { secret } = await subscribe(t.app, account.id, receiver.url)
  await t.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('people.example', 'mx', now() + interval '1 day')`,
  )
  const progress = async () => {
    const rows = await deliveriesOf(t.app, account.id)
    return {
      claimed: rows.filter(({ worker }) => worker !== null).length,
      failures: rows.flatMap(({ attempts }) => attempts).filter(({ error }) => error).length,
    }
  }
  const first = await startDaemon(t)
  const stdin = 'email,name\nada@people.example,Ada\nbob@people.example,Bob\n'
  const imported = await svc(
    t,
    ['contacts', 'import', '-', '--create-list', '--list', 'People', '--account', account.id, '--json'],
    { stdin },
  )
  expect(imported).toMatchObject({ status: 0, json: { created: 2 } })
  for (const { headers, body } of await receiver.arrived(2)) {
    expect(verify(secret, headers, body, Date.now())).toBe('ok')
    expect(JSON.parse(String(body))).toMatchObject({ type: 'contact.created' })
  }
  const send = (to: string) => callDaemon(first, 'POST', '/send', { key: account.key, body: freeform({ to }) })
  expect(await send('ada@people.example')).toMatchObject({ status: 200, body: { status: 'sent' } })
  expect(sink.mails.map(({ to }) => to)).toEqual([['ada@people.example']])

  receiver.always({ mode: 'hang' })
  sink.always({ hang: 'data' })
  await emitEvents(t.app, account.id, 100)
  await queueMany(t.app, account.id, 100)
  const cut = send('bob@people.example').catch(() => 'cut')
  await receiver.arrived(2 + 4)
  await eventually(() => sink.begun > 1)
  await eventually(async () => (await messagesOf(t.app, account.id)).length === 102)
  await first.kill('SIGKILL')
  expect(await cut).toBe('cut')
  // What left before the kill may be read after it.
  await eventually(() => receiver.open + sink.open === 0)
  const posts = receiver.requests.splice(2).map(keyOf)
  const atKill = await progress()
  const handed = (await messagesOf(t.app, account.id)).filter(({ state }) => state === 'handing').length
  expect([await tally(t.app, account.id), handed > 0, handed < 101]).toEqual([
    { delivered: 2, pending: 100 },
    true,
    true,
  ])

  receiver.always({})
  sink.always({})
  const second = await startDaemon(t)
  await eventually(async () => (await tally(t.app, account.id)).delivered === 102)
  await eventually(async () => !(await tallyMessages(t.app, account.id)).pending)
  // Each event arrives; the posts that were in flight are repeated, with the same key.
  const keys = receiver.requests.slice(2).map(keyOf)
  expect([new Set(keys).size, posts.every((key) => keys.includes(key))]).toEqual([100, true])
  // On a busy machine a post may time out, and a worker whose connection is silent for seconds loses its claims.
  const metrics = await (await fetch(`${second.url}/metrics`)).text()
  const freed = Number(/^svc_freed_claims_total\{job="deliveries"\} (\d+)$/m.exec(metrics)![1])
  const failures = (await progress()).failures - atKill.failures
  expect(keys.length - 100).toBeLessThanOrEqual(failures + freed - atKill.claimed)
  // Each email is sent once; those that were on a connection are in doubt, and not sent again.
  expect(await tallyMessages(t.app, account.id)).toEqual({ sent: 102 - handed, failed: handed })
  const failed = (await messagesOf(t.app, account.id)).filter(({ status }) => status === 'failed')
  expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['delivery state unknown']))
  expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(sink.mails.length)
  expect(sink.mails).toHaveLength(102 - handed)

  receiver.always({ delayMs: 300 })
  sink.always({ delayMs: 300 })
  await emitEvents(t.app, account.id, 200)
  await queueMany(t.app, account.id, 100, { to: 'cem@people.example' })
  await receiver.arrived(103)
  await sink.arrived(103 - handed)
  expect(await second.stop()).toBe(0)
  const rows = await deliveriesOf(t.app, account.id)
  const delivered = rows.filter(({ status }) => status === 'delivered').map(({ eventId }) => eventId)
  expect(new Set(delivered)).toEqual(new Set(receiver.requests.map(keyOf)))
  expect(rows.filter(({ status, worker, tries }) => status === 'pending' && (worker || tries))).toEqual([])
  const messages = await messagesOf(t.app, account.id)
  expect(messages.filter(({ status }) => status === 'sent')).toHaveLength(sink.mails.length)
  expect(messages.filter(({ state }) => state && state !== 'queued')).toEqual([])
})
