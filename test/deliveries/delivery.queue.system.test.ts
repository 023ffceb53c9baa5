import { expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { openEmbedded, stopEmbedded } from '../../src/embedded/embedded.ts'
import { emitEvents, startDeliveries, subscribe, tally } from '../support/deliveries.ts'
import { eventually } from '../support/eventually.ts'
import { migratedDataFolder } from '../support/folder.ts'
import { useReceiver } from '../support/receiver.ts'

const receiver = useReceiver()

test('no delivery is lost if the database server stops and starts under load', async () => {
  const folder = await migratedDataFolder()
  const embedded = await openEmbedded(folder)
  const env = { SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent', SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }
  const app = await openApp(readConfig(env), { isThread: true })
  const { id } = await app.operate('cli:test', (operation) =>
    createAccount(operation, { name: 'Own', plan: 'unlimited' }),
  )
  receiver.always({ delayMs: 30 })
  await subscribe(app, id, receiver.url)
  await emitEvents(app, id, 500)
  const loop = startDeliveries(app)
  await receiver.arrived(100)
  await stopEmbedded(folder)
  await eventually(async () => (await tally(app, id).catch(() => ({ delivered: 0 }))).delivered === 500)
  const keys = receiver.requests.map(({ headers }) => headers['x-service-idempotency-key'])
  expect(new Set(keys).size).toBe(500)
  await loop.stop()
  await app.close()
  await embedded.close()
})
