import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startSvc, svc } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { useReceiver } from '../support/receiver.ts'

const dns = useDnsServer()
const receiver = useReceiver()

const send = (servers: string) =>
  svc({ env: { SVC_DNS_SERVERS: servers } }, [
    ...['events', 'send', 'deal.created', '--json'],
    ...['--to', `http://hook.test:${receiver.port}/`],
  ])

test('svc events send resolves host names at SVC_DNS_SERVERS, as a delivery does', async () => {
  dns.set('hook.test', { A: ['127.0.0.1'] })
  const ran = await send(dns.address)
  expect([ran.status, ran.json.status, ran.stderr]).toEqual([0, 200, expect.stringContaining('whsec_')])
  expect(receiver.requests).toHaveLength(1)
})

test('svc events send exits with 4 if SVC_DNS_SERVERS has no addresses', async () => {
  const ran = await send('nowhere')
  expect(ran.status).toBe(4)
  expect(JSON.parse(ran.stderr)).toEqual({ error: 'SVC_DNS_SERVERS must be ip[:port], comma-separated' })
})

test('svc events send ends at a signal as other commands do, without waiting for the answer', async () => {
  receiver.next({ mode: 'hang' })
  const arrived = receiver.requests.length + 1
  const child = startSvc({ env: {} }, ['events', 'send', 'deal.created', '--to', receiver.url])
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  await expect.poll(() => receiver.requests.length).toBe(arrived)
  child.kill('SIGTERM')
  const [status] = await once(child, 'exit')
  expect([status, ...(await output)]).toEqual([143, '', expect.not.stringContaining('error')])
})
