import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type Daemon, freePort, startDaemon } from '../support/daemon.ts'
import { emitEvents, eventually, subscribe } from '../support/deliveries.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { needs } from '../support/needs.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let account: TestAccount
let receiver: Receiver
let sink: Sink
let jobs: Daemon

beforeAll(async () => {
  const [port, relayPort] = [await freePort(), await freePort()]
  t = await startApp({
    env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: `smtp://127.0.0.1:${relayPort}` },
  })
  account = await sendingAccount(t)
  receiver = await openReceiver()
  sink = await openSink({ port: relayPort })
  jobs = await startDaemon(t, { args: ['jobs', 'run', '--port', String(port)], env: { SVC_PORT: String(port) } })
})
afterAll(async () => {
  expect(await jobs.stop()).toBe(0)
  await receiver?.close()
  await sink?.close()
  await t?.close()
})

test('names of counters, and only those, end in _total', async () => {
  const text = await (await fetch(`${jobs.url}/metrics`)).text()
  const kinds = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, kind]) => [name!, kind!] as const)
  expect(kinds.length).toBeGreaterThan(20)
  expect(kinds.filter(([name, kind]) => name.endsWith('_total') !== (kind === 'counter'))).toEqual([])
})

test('promtool finds no problem in the metrics', needs('promtool'), async () => {
  const text = await (await fetch(`${jobs.url}/metrics`)).text()
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  expect([status, stdout + stderr]).toEqual([0, ''])
})

test('a jobs process counts the work of its threads in its metrics, and does not serve the API', async () => {
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 3)
  await queueMany(t.app, account.id, 2)
  const scrape = async () => (await fetch(`${jobs.url}/metrics`)).text()
  const text = await eventually(async () => {
    const now = await scrape()
    return (
      now.includes('svc_deliveries_total{outcome="delivered"} 3') && now.includes('sends_total{status="sent"} 2') && now
    )
  })
  expect(text).toContain('svc_delivery_duration_seconds_count 3')
  expect(text).toContain('svc_job_up{job="mail"} 1')
  expect((await fetch(`${jobs.url}/api/v1/lists`)).status).toBe(404)
  expect((await fetch(`${jobs.url}/docs`)).status).toBe(404)
})
