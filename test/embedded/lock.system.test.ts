import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Embedded, openEmbedded, stopEmbedded } from '../../src/embedded/embedded.ts'
import { spawnInTest } from '../support/children.ts'
import { inherited, program } from '../support/cli.ts'
import { isRoot, needsNamespaces, needsRoot } from '../support/needs.ts'
import { clusterSource, identity, postmasterPid, query, startUser, type User } from './support.ts'

/** Returns a prefix that runs a command with its own process ids, IPC and mounts, like a container. */
const container = (prepare = 'true', extra: string[] = []): string[] => {
  const rights = isRoot ? [] : ['--map-current-user', '--keep-caps']
  const own = ['--pid', '--fork', '--kill-child', '--ipc', '--mount-proc', ...extra]
  return ['unshare', ...rights, ...own, 'sh', '-c', `${prepare} && exec "$@"`, 'sh']
}
/** Returns a prefix that also adds a separate network, so that 127.0.0.1 inside is not that of the host. */
const farContainer = (prepare = 'true') => container(`ip link set lo up && ${prepare}`, ['--net'])
const mounted = (from: string, at: string) => `mount --bind '${from}' '${at}'`

const [command, ...rest] = farContainer()
const canIsolate = process.platform === 'linux' && spawnSync(command!, [...rest, 'true']).status === 0

const putCluster = clusterSource()

let top: string
let dataDir: string
let opened: Embedded[]
let children: ChildProcess[]

const open = async (dir = dataDir): Promise<Embedded> => {
  const embedded = await openEmbedded(dir, { settings: { fsync: 'off' } })
  opened.push(embedded)
  return embedded
}

const user = (dir = dataDir, inside: string[] = []): User => {
  const started = startUser([dir], {}, inside)
  children.push(started.process)
  return started
}

const svc = async (inside: string[], dir: string, args: string[]) => {
  const [first, ...others] = [...inside, process.execPath, program, ...args]
  const env = { ...inherited(), SVC_DATA_DIR: dir, SVC_SECRET: 'the secret of this cluster' }
  const child = spawnInTest(first!, others, { env })
  children.push(child)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const [status] = await once(child, 'close')
  return { status, stderr }
}

/** Writes rows one at a time, at least ten, until `stop` is called, which returns how many rows the server acknowledged. */
const startWriter = async (url: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create table kept (n int primary key)')
  let acknowledged = 0
  let stopping = false
  const written = (async () => {
    while (!stopping || acknowledged < 10) {
      await client.query('insert into kept values ($1)', [acknowledged])
      acknowledged++
      await sleep(2)
    }
    await client.end()
  })()
  written.catch(() => undefined)
  return {
    stop: async () => {
      stopping = true
      await written
      return acknowledged
    },
  }
}

const rows = (url: string) => query(url, 'select count(*)::int from kept')

/** Returns the inode and text of the pid file. A file that was deleted and written again has another inode. */
const pidFile = async (dir = dataDir) => {
  const path = join(dir, 'pgdata/postmaster.pid')
  return { inode: (await stat(path)).ino, text: await readFile(path, 'utf8') }
}

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'svc-lock-')))
  await chmod(top, 0o755)
  dataDir = join(top, '.svc')
  opened = []
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(opened.map((embedded) => embedded.close()))
  await stopEmbedded(dataDir)
  await rm(top, { recursive: true, force: true })
})

describe('containers on one data folder', needsNamespaces(canIsolate), () => {
  const elsewhere = async () => {
    const path = join(top, 'elsewhere')
    await mkdir(path)
    return path
  }

  test('a second container in the same network shares the server of the first, even under another folder name', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    const writer = await startWriter(url)
    const before = await pidFile()
    const path = await elsewhere()
    const second = user(path, container(mounted(dataDir, path)))
    expect((await second.next()).url).toBe(url)
    expect(await pidFile()).toEqual(before)
    await second.close()
    const written = await writer.stop()
    expect(await rows(url)).toBe(written)
    await Promise.all(opened.map((embedded) => embedded.close()))
    expect(await rows((await open()).url)).toBe(written)
  })

  test('a second container that cannot reach the server gets an error that says why; the first keeps working', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    const writer = await startWriter(url)
    const before = await pidFile()
    const path = await elsewhere()
    const commands = [['accounts'], ['db', 'stop']]
    const inside = farContainer(mounted(dataDir, path))
    for (const { status, stderr } of await Promise.all(commands.map((args) => svc(inside, path, args)))) {
      expect(stderr).toMatch(/^error: .*another container.*\n$/)
      expect(status).toBe(4)
    }
    expect(await pidFile()).toEqual(before)
    const written = await writer.stop()
    expect(await rows(url)).toBe(written)
    await Promise.all(opened.map((embedded) => embedded.close()))
    expect(await rows((await open()).url)).toBe(written)
  })

  test('if several containers open an empty folder at once, one opens it and the others are refused', async () => {
    await mkdir(dataDir, { mode: 0o700 })
    const users = [1, 2, 3].map(() => user(dataDir, farContainer()))
    const answers = await Promise.all(users.map(({ next }) => next()))
    expect(answers.filter(({ url }) => url)).toHaveLength(1)
    expect(answers.filter(({ kind }) => kind === 'configuration')).toHaveLength(2)
    await users[answers.findIndex(({ url }) => url)]!.close()
    expect(await identity((await open()).url)).toMatch(/^\d+$/)
  })

  test('several containers in one network that open an empty folder at once share one server', async () => {
    await mkdir(dataDir, { mode: 0o700 })
    const users = [1, 2, 3].map(() => user(dataDir, container()))
    const urls = (await Promise.all(users.map(({ next }) => next()))).map(({ url }) => url)
    expect(new Set(urls).size).toBe(1)
    expect(await query(urls[0]!, 'select 1')).toBe(1)
  })

  test('a second container waits until the last process of a killed server has ended', async () => {
    await putCluster(dataDir)
    const startedAt = performance.now()
    const { url } = await user().next()
    const usualMs = performance.now() - startedAt
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    const backend = (await client.query('select pg_backend_pid() as pid')).rows[0].pid
    // Like a busy backend, a stopped one does not notice that its postmaster has ended, and so outlives it.
    process.kill(backend, 'SIGSTOP')
    // Line 7 has the key and the id of the server's System V shared memory.
    const memory = (await pidFile()).text.split('\n')[6]!.trim().split(/ +/)[1]!
    for (const child of children) child.kill('SIGKILL')
    process.kill(await postmasterPid(dataDir), 'SIGKILL')
    const second = user(dataDir, container())
    const answer = second.next()
    expect(await Promise.race([answer, sleep(2 * usualMs, 'waits')])).toBe('waits')
    process.kill(backend, 'SIGKILL')
    expect(await query((await answer).url, 'select 1')).toBe(1)
    // The second server can't remove that of the killed one: its container has its own System V shared memory.
    expect(spawnSync('ipcrm', ['-m', memory]).status).toBe(0)
  })

  test('the folder of a killed container is recovered with every acknowledged write', async () => {
    await putCluster(dataDir)
    const first = user(dataDir, container())
    const { url } = await first.next()
    const writer = await startWriter(url)
    await expect.poll(() => rows(url)).toBeGreaterThan(100)
    const written = await writer.stop()
    await first.kill()
    const again = await open()
    // The container ends a moment after the command that started it: its server may have accepted this connection.
    await expect.poll(() => rows(again.url).catch(() => 0)).toBe(written)
  })

  test('a container does not clean up a data folder that another process is creating', async () => {
    const first = user()
    const building = async () =>
      (await readdir(dataDir).catch(() => [])).some((name) => existsSync(join(dataDir, name, 'data/base')))
    while (!(await building())) await sleep(5)
    const second = user(dataDir, container())
    const [{ url }, other] = await Promise.all([first.next(), second.next()])
    expect(other.url).toBe(url)
  })
})

test(
  'root can stop the server without the right to inspect other processes, as in a container',
  needsRoot,
  async () => {
    await putCluster(dataDir)
    const confined = user(dataDir, ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace'])
    const { url } = await confined.next()
    expect(await query(url, 'select 1')).toBe(1)
    await confined.close()
    await expect(pidFile()).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

describe('one cluster under two names', () => {
  test('a folder that is renamed while its server runs opens under the new name with the same server', async () => {
    await putCluster(dataDir)
    const { url } = await user().next()
    const writer = await startWriter(url)
    const before = await pidFile()
    const moved = join(top, 'moved')
    await rename(dataDir, moved)
    const second = user(moved)
    expect((await second.next()).url).toBe(url)
    expect(await pidFile(moved)).toEqual(before)
    const written = await writer.stop()
    expect(await rows(url)).toBe(written)
    for (const child of children) child.kill('SIGKILL')
    expect(await stopEmbedded(moved)).toBe('stopped')
    await rename(moved, dataDir)
    expect(await rows((await open()).url)).toBe(written)
  })

  test('a data folder whose cluster is a link to the cluster of another folder shares its server', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    const other = join(top, 'other')
    await mkdir(other)
    await symlink(join(dataDir, 'pgdata'), join(other, 'pgdata'))
    await symlink(join(dataDir, 'postgres.password'), join(other, 'postgres.password'))
    expect((await open(other)).url).toBe(url)
  })
})

describe('a copy of a data folder', () => {
  test('is never mistaken for the original if only the copy can be reached', needsNamespaces(canIsolate), async () => {
    await putCluster(dataDir)
    const copy = join(top, 'copy')
    expect(spawnSync('cp', ['-a', dataDir, copy]).status).toBe(0)
    const original = user(dataDir, farContainer())
    expect(await original.next()).toMatchObject({ url: expect.any(String) })
    const { url } = await open(copy)
    expect(await user().next()).toMatchObject({ kind: 'configuration' })
    expect(await query(url, 'select 1')).toBe(1)
  })
})
