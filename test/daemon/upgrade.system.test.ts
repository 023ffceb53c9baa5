import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { schemaState } from '../../src/store/schema.ts'
import { canContinue, unpackBefore } from '../support/before.ts'
import { spawnInTest } from '../support/children.ts'
import { inherited, svcProcess } from '../support/cli.ts'
import { type Daemon, freePort, startDaemon } from '../support/daemon.ts'
import { onServer } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { skipUnless } from '../support/needs.ts'
import { useReceiver } from '../support/receiver.ts'
import { urlOf } from '../support/server.ts'
import { limit } from '../support/slowness.ts'

const receiver = useReceiver()

/** Unpacks the version before, until the end of the test. */
const unpack = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-before-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return unpackBefore(folder)
}

test('daemons of the version before and of this one work side by side through the migration: nothing is refused, lost or sent twice', {
  timeout: limit(600_000),
  ...skipUnless(canContinue, 'there is no earlier version in the history whose daemons continue beside this schema'),
}, async () => {
  const old = await unpack()
  const name = `svc_upgrade_${process.pid}_${randomBytes(4).toString('hex')}`
  await onServer(`create database ${name} template template0`)
  const url = urlOf(inject('serverUrl'), name)
  const database = openDatabase(url)
  onTestFinished(async () => {
    await database.close()
    await onServer(`drop database if exists ${name} with (force)`)
  })
  const env = {
    DATABASE_URL: url,
    SVC_SECRET: 'a secret of at least thirty-two characters',
    SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8',
    SVC_RATE_LIMIT: '0',
    SVC_LOG_LEVEL: 'warn',
  }
  const runOld = async (...args: string[]) => {
    const child = spawnInTest(process.execPath, [old, ...args], { env: { ...inherited(), ...env } })
    const text: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (part) => {
        text[stream] += part
      })
    const [status] = await once(child, 'close')
    expect({ args, status, stderr: status === 0 ? '' : text.stderr }).toEqual({ args, status: 0, stderr: '' })
    return text.stdout === '' ? null : JSON.parse(text.stdout)
  }
  await runOld('db', 'migrate', '--json')
  const account = await runOld('accounts', 'create', '--name', 'Acme', '--plan', 'unlimited', '--with-key', '--json')
  const list = await runOld('lists', 'create', '--account', 'Acme', '--name', 'People', '--json')
  await database.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('load.example', 'mx', now() + interval '1 day')`,
  )
  const pending = (await schemaState(database)).pending
  expect(pending.length).toBeGreaterThan(0)

  const port = await freePort()
  const first = spawnInTest(process.execPath, [old, 'serve'], {
    env: { ...inherited(), ...env, SVC_PORT: String(port) },
  })
  first.stdout.resume()
  first.stderr.resume()
  const urls = [`http://127.0.0.1:${port}`]
  const isReady = async (of: string) => (await fetch(`${of}/readyz`).catch(() => null))?.ok === true
  await eventually(() => isReady(urls[0]!))

  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const subscribed = await fetch(`${urls[0]}/api/v1/webhooks`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ url: receiver.url, events: ['contact.created'] }),
  })
  expect(subscribed.status).toBe(201)

  const acknowledged: string[] = []
  const others: unknown[] = []
  let isRunning = true
  let n = 0
  const caller = async () => {
    while (isRunning) {
      const email = `n${++n}@load.example`
      const body = JSON.stringify({ listId: list.id, email, fields: {} })
      const to = urls[n % urls.length]
      try {
        const reply = await fetch(`${to}/api/v1/contacts`, { method: 'POST', headers, body })
        if (reply.status === 201) acknowledged.push(email)
        else others.push([reply.status, await reply.text()])
        await reply.arrayBuffer().catch(() => {})
      } catch (error) {
        others.push(String(error))
      }
    }
  }
  const callers = Array.from({ length: 4 }, caller)
  const more = async (count: number) => {
    const from = acknowledged.length
    await eventually(() => acknowledged.length >= from + count || others.length > 0)
  }
  await more(50)

  const changes = (await svcProcess({ env }, ['db', 'migrate', '--dry-run', '--json'])).json
  expect(changes.daemons).toMatchObject([{ pid: first.pid, continues: true }])
  const migrated = await svcProcess({ env }, ['db', 'migrate', '--json'])
  expect(migrated).toMatchObject({ status: 0, json: { applied: pending } })
  expect(await isReady(urls[0]!)).toBe(true)
  await more(50)

  const second: Daemon = await startDaemon({ env })
  urls.push(second.url)
  await more(100)
  urls.shift()
  await more(20)
  first.kill('SIGTERM')
  await once(first, 'exit')
  await more(50)
  isRunning = false
  await Promise.all(callers)

  expect(others).toEqual([])
  const rows = await database.sql<{ email: string }>('select email from contacts where account_id = $1', [account.id])
  expect(rows.map(({ email }) => email).sort()).toEqual(acknowledged.toSorted())
  await eventually(async () => (await database.sql('select from pending_deliveries')).length === 0)
  const delivered = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.contact.email as string)
  expect(delivered.sort()).toEqual(acknowledged.toSorted())
})
