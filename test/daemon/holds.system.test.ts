import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { callDaemon, freePort } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { emitEvents, eventually, latePosts, subscribe, tally } from '../support/deliveries.ts'
import { freeform, messagesOf, queueMany, sendingAccount, tallyMessages } from '../support/messages.ts'
import { useReceiver } from '../support/receiver.ts'
import { useSink } from '../support/smtp.ts'

const port = await freePort()
const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: `smtp://127.0.0.1:${port}` } })
const sink = useSink({ port })
const receiver = useReceiver()
const { start } = useDaemons(t)

const queues = async (...args: string[]) => {
  const ran = await svc(t, ['queues', ...args, '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  return ran.json
}

/** Waits until the workers of all daemons have sent two heartbeats, with which they read whether their queue is paused. */
const heartbeats = async () => {
  for (let i = 0; i < 2; i++) {
    const before = new Map(
      (await t.app.sql<{ id: number; at: string }>('select id, seen_at::text as at from workers')).map(
        ({ id, at }) => [id, at] as const,
      ),
    )
    await eventually(async () => {
      const now = await t.app.sql<{ id: number; at: string; job: string }>(
        `select w.id, w.seen_at::text as at, w.job from workers w
         join pg_locks l on l.locktype = 'advisory' and l.objid = w.id and l.granted
           and l.database = (select oid from pg_database where datname = current_database())`,
      )
      const jobs = new Set(now.map(({ job }) => job))
      return jobs.has('deliveries') && jobs.has('mail') && now.every(({ id, at }) => before.get(id) !== at)
    })
  }
}

test('paused queues survive kill -9 and a restart, in two daemons: nothing leaves, and resume sends each once', async () => {
  const account = await sendingAccount(t)
  await subscribe(t.app, account.id, receiver.url)
  const [first, second] = [await start(), await start()]
  const post = (daemon: { url: string }) =>
    callDaemon(daemon as typeof first, 'POST', '/send', { key: account.key, body: freeform() })
  expect((await post(first)).body.status).toBe('sent')
  await queues('pause')
  await heartbeats()
  expect((await post(first)).body.status).toBe('pending')
  expect((await post(second)).body.status).toBe('pending')
  await emitEvents(t.app, account.id, 50)
  await queueMany(t.app, account.id, 50)
  await first.kill('SIGKILL')
  await second.kill('SIGKILL')
  const third = await start()
  expect((await post(third)).body.status).toBe('pending')
  await heartbeats()
  expect(await (await fetch(`${third.url}/readyz`)).json()).toMatchObject({
    status: 'ready',
    paused: ['deliveries', 'journeys', 'sends'],
  })
  expect(await (await fetch(`${third.url}/metrics`)).text()).toContain('svc_queue_paused{queue="sends"} 1')
  expect([receiver.requests.length, sink.mails.length]).toEqual([0, 1])
  expect((await messagesOf(t.app, account.id)).filter(({ state }) => state === 'queued')).toHaveLength(53)
  await start()
  await queues('resume', '--yes')
  await eventually(async () => (await tally(t.app, account.id)).delivered === 50)
  await eventually(async () => (await tallyMessages(t.app, account.id)).sent === 54)
  expect(receiver.requests).toHaveLength(50 + (await latePosts(t.app, account.id)))
  expect(new Set(receiver.requests.map(({ headers }) => headers['x-service-idempotency-key'])).size).toBe(50)
  expect(sink.mails).toHaveLength(54)
  expect(new Set(sink.mails.map((mail) => mail.header('message-id'))).size).toBe(54)
  expect(await (await fetch(`${third.url}/readyz`)).json()).not.toHaveProperty('paused')
  expect((await post(third)).body.status).toBe('sent')
})
