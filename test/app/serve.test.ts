import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp, useApp } from '../support/app.ts'
import { svc, svcProcess } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { newDataFolder } from '../support/folder.ts'

// Starts of svc serve that are refused. test/daemon starts real daemons.

const t = useApp()

test('all errors of the environment are reported at once, exit 4', async () => {
  const names = {
    DATABASE_URL: 'mysql://x',
    SVC_PORT: 'abc',
    SVC_RATE_LIMIT: '-1',
    SVC_SECRET: 'short',
    SVC_LOG_LEVEL: 'loud',
    SVC_ALLOW_PRIVATE_WEBHOOKS: 'foo',
  }
  const ran = await svc({ env: {} }, ['serve'], { env: names })
  expect(ran.status).toBe(4)
  for (const name of Object.keys(names)) expect(ran.stderr).toContain(name)
  expect(ran.stderr).not.toContain('short')
  expect(ran.stdout).toBe('')
})

test('SVC_SECRET is required with DATABASE_URL', async () => {
  const ran = await svc({ env: { DATABASE_URL: t.url } }, ['serve'])
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toContain('SVC_SECRET is required')
})

test('a missing SVC_SECRET is reported beside the other errors of the environment', async () => {
  const ran = await svc({ env: { DATABASE_URL: t.url, SVC_PORT: 'abc' } }, ['serve'])
  expect(ran.status).toBe(4)
  expect(ran.stderr).toBe(
    'error: SVC_PORT must be a whole number from 0 to 65535; SVC_SECRET is required with DATABASE_URL\n',
  )
})

test('an outdated schema is refused with exit 7, and the error names svc db migrate', async () => {
  const behind = await startApp()
  await behind.app.sql('delete from mikro_orm_migrations')
  const ran = await svc(behind, ['serve'])
  expect(ran.status).toBe(7)
  expect(ran.stderr).toContain('svc db migrate')
  await behind.close()
})

test('an unavailable database is exit 7', async () => {
  const env = { DATABASE_URL: `postgres://svc:svc@127.0.0.1:${await freePort()}/svc` }
  // svc db status is no use as the hint: it would report the same.
  for (const command of ['serve', 'lists', 'db status'])
    expect(await svc(t, command.split(' '), { env })).toMatchObject({
      ...{ status: 7, stdout: '' },
      stderr: 'error: The database is not available\n  next: svc doctor\n',
    })
})

test('a start that fails after the server listens ends the process with exit 7', async () => {
  const port = await freePort()
  const ran = await t.app.database.transaction(async (sql) => {
    // The daemon waits for this row, to keep its settings, for as long as a lock may take (5 s).
    await sql('select from installation for update')
    return svcProcess(t, ['serve'], { env: { SVC_PORT: String(port) } })
  })
  expect(ran.status).toBe(7)
  expect(ran.stderr).toContain('The database is too busy')
})

test('a taken port is exit 4, with a line that explains what to do', async () => {
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  await once(other, 'listening')
  const ran = await svc(t, ['serve'], { env: { SVC_PORT: String(port) } })
  other.close()
  expect(ran.status).toBe(4)
  expect(ran.stderr).toMatch(/Port \d+ is taken/)
  expect(ran.stderr).toContain('SVC_PORT')
})

test.each(['serve', 'dev'])('and svc %s creates no database before', async (command) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const dataDir = await newDataFolder()
  const ran = await svc({ env: { SVC_DATA_DIR: dataDir, SVC_PORT: String(port), SVC_LOG_LEVEL: 'silent' } }, [command])
  other.close()
  expect(ran).toMatchObject({ status: 4, stderr: `error: Port ${port} is taken\n  next: set SVC_PORT to a free one\n` })
  expect(existsSync(join(dataDir, 'pgdata'))).toBe(false)
})
