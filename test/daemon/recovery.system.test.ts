import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedUrl } from '../../src/embedded/embedded.ts'
import { postmasterPid, query } from '../embedded/support.ts'
import { spawnInTest } from '../support/children.ts'
import { program } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { migratedDataFolder } from '../support/folder.ts'
import { needsNamespaces } from '../support/needs.ts'

let folder: string
let daemon: Daemon

beforeAll(async () => {
  folder = await migratedDataFolder()
  daemon = await startDaemon({ env: { SVC_DATA_DIR: folder } })
})
afterAll(async () => {
  expect(await daemon.stop()).toBe(0)
})

/** The log lines about the embedded database, without the first `from`. */
const told = (from = 0) =>
  daemon
    .log()
    .split('\n')
    .filter((line) => line.includes('embedded database'))
    .slice(from)
    .map((line) => JSON.parse(line))
const isReady = async () => (await fetch(`${daemon.url}/readyz`)).status

test('the daemon and its jobs find a server that is back on another port, and log one line', async () => {
  const { length } = told()
  const before = new URL(embeddedUrl(folder))
  process.kill(daemon.pid, 'SIGSTOP')
  process.kill(await postmasterPid(folder), 'SIGKILL')
  const other = createServer()
  for (;;) {
    const bound = await new Promise((resolve) => {
      other.once('listening', () => resolve(true)).once('error', () => resolve(false))
      other.listen(Number(before.port), '127.0.0.1')
    })
    other.removeAllListeners('listening').removeAllListeners('error')
    if (bound) break
    await sleep(10)
  }
  process.kill(daemon.pid, 'SIGCONT')
  await expect.poll(isReady).toBe(200)
  const url = embeddedUrl(folder)
  expect(new URL(url).port).not.toBe(before.port)
  const jobs = () =>
    query(url, `select count(*)::int from pg_stat_activity where application_name like 'svc deliveries %'`)
  await expect.poll(jobs).toBeGreaterThan(0)
  other.close()
  await expect.poll(() => told(length).length).toBe(1)
  expect(told(length)).toMatchObject([
    {
      level: 40,
      msg: 'the embedded database stopped and runs again: this process started it again',
      moved: true,
      ms: expect.any(Number),
    },
  ])
})

test('the reason why the server does not start is logged once; after the repair the daemon is ready again', async () => {
  const { length } = told()
  const settings = join(folder, 'pgdata/postgresql.auto.conf')
  const kept = await readFile(settings, 'utf8')
  await writeFile(settings, 'shared_buffers = nonsense\n')
  process.kill(await postmasterPid(folder), 'SIGKILL')
  await expect.poll(() => told(length).length).toBe(1)
  expect(told(length)[0]).toMatchObject({
    level: 50,
    err: { message: expect.stringMatching(/does not start: FATAL: {2}configuration file .* contains errors/) },
  })
  await expect.poll(isReady).toBe(503)
  // The start is retried every second.
  await sleep(2500)
  expect(told(length)).toHaveLength(1)
  await writeFile(settings, kept)
  await expect.poll(isReady).toBe(200)
  await expect.poll(() => told(length + 1).length).toBe(1)
  expect(told(length + 1)).toMatchObject([{ level: 40, msg: expect.stringContaining('runs again') }])
  expect(daemon.log()).not.toContain(new URL(embeddedUrl(folder)).password)
})

const inside = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])]
const canMount = spawnSync(inside[0]!, [...inside.slice(1), 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

test('a full disk is named as the reason', needsNamespaces(canMount), async () => {
  const script = `mount -t tmpfs -o size=60m,mode=755 none /mnt && "$NODE" "$SVC" db migrate >/dev/null
    cat /dev/zero >/mnt/fill 2>/dev/null; cat /dev/zero >>/mnt/.svc/postgres.log 2>/dev/null
    "$NODE" "$SVC" plans list`
  const env = { PATH: process.env.PATH, SVC_DATA_DIR: '/mnt/.svc', NODE: process.execPath, SVC: program }
  const child = spawnInTest(inside[0]!, [...inside.slice(1), 'sh', '-c', script], { env })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  expect(await once(child, 'close')).toEqual([7, null])
  expect(stderr).toMatch(/^error: The embedded database does not start: the disk of \/mnt\/\.svc is full/)
})
