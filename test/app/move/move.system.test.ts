import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { countOwned } from '../../../src/accounts/accounts.ts'
import { addDeliveries } from '../../accounts/support.ts'
import { type TestApp, useApp } from '../../support/app.ts'
import { startSvc, svcProcess } from '../../support/cli.ts'
import { startDaemon } from '../../support/daemon.ts'
import { emitEvents, eventually, subscribe, tally } from '../../support/deliveries.ts'
import { holdUp } from '../../support/hold.ts'
import { useReceiver } from '../../support/receiver.ts'

const receiver = useReceiver()
const env = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }
const source = useApp({ env: { ...env, SVC_SECRET: 'the secret of the source, for tests' } })
const target = useApp({ env: { ...env, SVC_SECRET: 'the secret of the target, for tests' } })

const folder = mkdtempSync(join(tmpdir(), 'svc-move-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'moved.account')
const secretFile = join(folder, 'passphrase')
writeFileSync(secretFile, 'a passphrase that only tests use')

/** The incomplete files that exports have written. */
const parts = () =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.part'))
    .map((name) => join(folder, name))

const works = async (side: TestApp, key: string): Promise<boolean> =>
  (await side.request('GET', '/webhooks', { key })).status === 200

test('killed at any point, export and import continue when they are repeated; the account works on one side', async () => {
  const deliveries = 3_000
  const account = await source.account()
  await addDeliveries(source, account.id, deliveries)
  await subscribe(source.app, account.id, `${receiver.url}/moved`)
  await emitEvents(source.app, account.id, 3)
  const owned = await countOwned(source.app, account.id)
  const stateOf = async () => {
    const [row] = await source.app.sql<{ move: string | null }>('select move from accounts where id = $1', [account.id])
    return row!.move
  }
  const exportArgs = ['accounts', 'export', account.id, '--out', file, '--secret-file', secretFile, '--json']
  const importArgs = ['accounts', 'import', file, '--secret-file', secretFile, '--json']
  const killAt = async (side: TestApp, args: string[], isThere: () => Promise<unknown>) => {
    const child = startSvc(side, args)
    const closed = once(child, 'close')
    await Promise.race([closed, isThere()])
    child.kill('SIGKILL')
    await closed
  }
  const killExportAt = (isThere: () => Promise<boolean>) => killAt(source, exportArgs, () => eventually(isThere))
  /** It does not end before it is killed. */
  const killUnendedAt = async (isThere: () => Promise<boolean>) => {
    const end = await holdUp(source, 'update on accounts', { when: `new.move = 'exported'` })
    await killExportAt(isThere)
    await end.end()
  }
  const sides = async () => [await works(source, account.key), await works(target, account.key)]

  await killUnendedAt(async () => (await stateOf()) !== null)
  expect(['closing', 'exporting']).toContain(await stateOf())
  expect(await sides()).toEqual([false, false])
  await killUnendedAt(async () => parts().some((part) => statSync(part).size > 0))
  expect(existsSync(file)).toBe(false)
  expect(await sides()).toEqual([false, false])
  await killExportAt(async () => (await stateOf()) === 'exported')
  expect(await stateOf()).toBe('exported')
  if (!existsSync(file)) expect((await svcProcess(source, exportArgs)).status).toBe(0)

  const copying = await holdUp(target, 'insert on ended_deliveries', { after: 1000 })
  await killAt(target, importArgs, copying.reached)
  await copying.end()
  expect(await sides()).toEqual([false, false])
  const imported = await svcProcess(target, importArgs)
  expect(imported).toMatchObject({ status: 0, json: { id: account.id, tables: owned } })
  expect(await sides()).toEqual([false, true])
  expect(await svcProcess(target, importArgs)).toMatchObject({ status: 0, json: { rows: 0 } })
  expect(await countOwned(target.app, account.id)).toEqual(owned)

  const daemons = [await startDaemon(source), await startDaemon(target)]
  await eventually(async () => (await tally(target.app, account.id)).delivered === deliveries + 3)
  expect(receiver.requests).toHaveLength(3)
  const answers = daemons.map(({ url }) =>
    fetch(`${url}/api/v1/lists`, { headers: { authorization: `Bearer ${account.key}` } }),
  )
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([410, 200])
  for (const daemon of daemons) await daemon.stop()
})
