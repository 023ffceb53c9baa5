import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { useReceiver } from '../support/receiver.ts'

const t = useApp({ development: true, env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32' } })
const receiver = useReceiver()

test('a signature has the time of a moved clock, also before the process has heard of the move', async () => {
  const hour = 3_600_000
  const { id } = await t.account()
  await subscribe(t.app, id, receiver.url)
  await t.app.sql('update development_clock set offset_ms = $1', [hour])
  await emitEvents(t.app, id)
  const loop = startDeliveries(t.app)
  const request = await eventually(() => receiver.requests[0])
  await loop.stop()
  const signedAt = Number(request.headers['x-service-timestamp']) * 1000
  expect(Math.abs(signedAt - request.arrivedAtMs - hour)).toBeLessThan(hour / 2)
})
