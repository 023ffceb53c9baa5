import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { stopEmbedded } from '../../src/embedded/embedded.ts'
import { spawnInTest } from '../support/children.ts'
import { inherited, program, startSvc, svc } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { untilLocked } from '../support/database.ts'
import { migratedDataFolder } from '../support/folder.ts'

let target: { env: Record<string, string> }

beforeAll(async () => {
  target = { env: { SVC_DATA_DIR: await migratedDataFolder(), SVC_LOG_LEVEL: 'silent' } }
  const app = await openApp(readConfig(target.env))
  await app.operate('cli:test', (operation) => createAccount(operation, { name: 'Only', plan: 'unlimited' }))
  await app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('many.example', 'mx', now() + interval '1 day')`,
  )
  await app.close()
  const rows = Array.from({ length: 5000 }, (_, i) => `n${i}@many.example\n`).join('')
  const ran = await svc(target, ['contacts', 'import', '-', '--create-list', '--list', 'Many'], {
    stdin: `email\n${rows}`,
  })
  expect(ran.status).toBe(0)
})

const pidFile = () => join(target.env.SVC_DATA_DIR!, 'pgdata/postmaster.pid')
const ended = (child: ChildProcess): Promise<number | null> => once(child, 'exit').then(([status]) => status)

const children: ChildProcess[] = []
const started = <Child extends ChildProcess>(child: Child): Child => {
  children.push(child)
  return child
}
// A failed test leaves nothing behind for the next one.
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await stopEmbedded(target.env.SVC_DATA_DIR!)
})

test.each([
  ['SIGINT', 130],
  ['SIGHUP', 129],
  ['SIGTERM', 143],
] as const)('%s while the database is starting leaves no server', async (signal, status) => {
  const interrupted = async () => {
    const child = started(startSvc(target, ['plans', 'list']))
    const end = ended(child)
    while (!existsSync(pidFile())) await sleep(1)
    child.kill(signal)
    return end
  }
  // On a slow machine the command can end before it gets the signal.
  let exit = await interrupted()
  for (let repeats = 0; exit === 0 && repeats < 10; repeats++) exit = await interrupted()
  expect(exit).toBe(status)
  expect(existsSync(pidFile())).toBe(false)
})

const shellEnv = () => ({ ...inherited(), ...target.env, NODE: process.execPath, SVC: program })
const shell = (line: string) => spawnInTest('sh', ['-c', line], { env: shellEnv() })

test('an export whose reader stops early ends with exit 0 and leaves no server', async () => {
  const child = shell('("$NODE" "$SVC" contacts export --list Many; echo "exit $?" >&2) | head -1')
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (text) => (stdout += text))
  child.stderr.on('data', (text) => (stderr += text))
  await once(child, 'close')
  expect([stdout, stderr]).toEqual(['email,suppression\r\n', 'exit 0\n'])
  expect(existsSync(pidFile())).toBe(false)
})

test('a full disk is reported as an error of the export', async () => {
  const child = shell('"$NODE" "$SVC" contacts export --list Many >/dev/full')
  let stderr = ''
  child.stderr.on('data', (text) => (stderr += text))
  expect(await ended(child)).toBe(1)
  expect(stderr).toBe("error: The output can't be written (ENOSPC)\n  next: svc doctor\n")
  expect(existsSync(pidFile())).toBe(false)
})

test('Ctrl-C ends a command that waits for the database; it writes nothing and leaves no server', async () => {
  const keep = await openApp(readConfig(target.env))
  const holder = await keep.database.connect()
  await holder.query('begin; lock table contact_lists in access exclusive mode')
  const child = started(startSvc(target, ['lists', 'create', '--name', 'Never']))
  const end = ended(child)
  await untilLocked(keep.database, 1)
  child.kill('SIGINT')
  child.kill('SIGINT')
  expect(await end).toBe(130)
  await holder.query('rollback')
  expect(await keep.sql(`select from contact_lists where name = 'Never'`)).toEqual([])
  await holder.end()
  await keep.close()
  expect(existsSync(pidFile())).toBe(false)
})

test('closing the terminal ends svc dev and svc listen and leaves no server, no subscription and no unfinished file', async () => {
  const dev = started(startSvc(target, ['dev'], { env: { SVC_PORT: String(await freePort()) } }))
  await once(dev.stdout, 'data')
  const listener = started(startSvc(target, ['listen', '--account', 'demo', '--jsonl']))
  await once(listener.stderr, 'data')
  // The output at their end has no reader.
  for (const child of [dev, listener]) {
    child.stdout.destroy()
    child.stderr.destroy()
  }
  listener.kill('SIGHUP')
  expect(await ended(listener)).toBe(0)
  const { webhooks } = (await svc(target, ['webhooks', 'list', '--account', 'demo', '--json'])).json
  expect(webhooks).toHaveLength(1)
  dev.kill('SIGHUP')
  expect(await ended(dev)).toBe(0)
  expect(existsSync(pidFile())).toBe(false)
  const files = await readdir(target.env.SVC_DATA_DIR!)
  expect(files.filter((name) => /^new\.|\.\d+$|^catcher$/.test(name))).toEqual([])
})

test('a daemon that npm started ends when the shell between them is killed by the signal that npm forwards', async () => {
  const child = spawnInTest('sh', ['-c', '"$NODE" "$SVC" serve; true'], {
    env: { ...shellEnv(), npm_command: 'exec', SVC_PORT: String(await freePort()) },
  })
  await expect.poll(() => existsSync(pidFile())).toBe(true)
  child.kill('SIGTERM')
  await expect.poll(() => existsSync(pidFile())).toBe(false)
})
