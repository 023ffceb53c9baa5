import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { inherited, program, progressLines, svcProcess } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { isRoot, needsNamespaces, needsRoot, skipUnless } from '../support/needs.ts'

const nobody = { uid: 65_534, gid: 65_534 }
/** A user id without a line in /etc/passwd. */
const nameless = { uid: 54_321, gid: 54_321 }
const canName = isRoot && spawnSync('unshare', ['--user', '--map-user=65534', 'true'], nameless).status === 0

let top: string
let loading: Record<string, string>

/**
 * Returns an environment in which the processes of these users load modules from a copy of the tests' compile cache that they can read.
 * Without it, a command takes twice the CPU time.
 */
const shareCache = async (folder: string): Promise<Record<string, string>> => {
  const { HOME, NODE_COMPILE_CACHE: own, ...rest } = inherited()
  if (!own) return rest
  // Not "&&": cp fails if another test's process renames a new file of the cache meanwhile, and has copied the others.
  await promisify(execFile)('sh', ['-c', 'cp -r "$1" "$2"; chmod -R a+rX "$2"', 'share', own, folder])
  // Node keeps a folder for each of its versions and user ids.
  for (const name of await readdir(folder))
    for (const id of [0, nobody.uid, nameless.uid]) {
      const other = name.replace(/-\d+$/, `-${id}`)
      if (other !== name) await symlink(name, join(folder, other)).catch(() => {})
    }
  return { ...rest, NODE_COMPILE_CACHE: folder }
}

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'svc-users-'))
  for (const [name, { uid, gid }] of Object.entries({ nobody, nameless })) {
    await mkdir(join(top, name), { mode: 0o755 })
    if (isRoot) await chown(join(top, name), uid, gid)
  }
  await chmod(top, 0o755)
  loading = await shareCache(join(top, 'compiled'))
})
afterAll(() => rm(top, { recursive: true, force: true, maxRetries: 5 }))

const start = (dataDir: string, umask: string, args: string, as: object = {}, env: Record<string, string> = {}) =>
  spawnInTest('sh', ['-c', `umask ${umask}; exec "$NODE" "$SVC" ${args}`], {
    env: { ...loading, NODE: process.execPath, SVC: program, SVC_DATA_DIR: dataDir, ...env },
    cwd: '/',
    ...as,
  })

const run = async (...started: Parameters<typeof start>) => {
  const child = start(...started)
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  child.stdout.resume()
  const [status] = await once(child, 'close')
  return { status, stderr }
}

/** Returns the files of a data folder that `uid` does not own or that others can access, without the database's programs. */
const strange = async (dataDir: string, uid: number) => {
  const names = (await readdir(dataDir, { recursive: true })).filter((name) => !name.startsWith('postgresql-'))
  const found = await Promise.all(
    names.map(async (name) => {
      const { mode, uid: owner } = await stat(join(dataDir, name))
      return owner !== uid || mode & 0o077 ? `${name} ${owner} ${(mode & 0o777).toString(8)}` : []
    }),
  )
  expect(names).toContain('secret')
  return found.flat()
}

test(
  'root, without a umask, writes files into another user’s folder that belong to that user and that the user can use',
  needsRoot,
  async () => {
    const dataDir = join(top, 'nobody/.svc')
    await mkdir(dataDir, { mode: 0o700 })
    await chown(dataDir, nobody.uid, nobody.gid)
    const dev = start(dataDir, '000', 'dev', {}, { SVC_PORT: String(await freePort()) })
    await once(dev.stdout, 'data')
    expect(await strange(dataDir, nobody.uid)).toEqual([])
    expect(await readdir(dataDir)).toEqual(expect.arrayContaining(['catcher', 'demo.json', 'mail', 'pgdata']))
    dev.kill('SIGTERM')
    expect((await once(dev, 'exit'))[0]).toBe(0)
    expect(await run(dataDir, '000', 'plans list', nobody)).toEqual({ status: 0, stderr: '' })
    expect(await strange(dataDir, nobody.uid)).toEqual([])
  },
)

test(
  'a user id without a name creates a data folder that only it can access, and works with it',
  skipUnless(canName, 'only root that may create namespaces can run it'),
  async () => {
    const dataDir = join(top, 'nameless/.svc')
    expect(await run(dataDir, '000', 'db migrate', nameless)).toEqual({
      status: 0,
      stderr: expect.stringMatching(progressLines),
    })
    expect(await run(dataDir, '000', 'accounts create --name One', nameless)).toEqual({ status: 0, stderr: '' })
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
    expect(await strange(dataDir, nameless.uid)).toEqual([])
  },
)

describe('the compile cache', () => {
  /** Runs a command with this home folder. It may write nothing into the temporary folder. */
  const runAtHome = async (home: string, others: Record<string, string> = {}) => {
    const temporary = await mkdtemp(join(top, 'tmp-'))
    const env = { HOME: home, TMPDIR: temporary, NODE_COMPILE_CACHE: '', ...others }
    expect(await svcProcess({ env }, ['--version'])).toMatchObject({ status: 0 })
    expect(await readdir(temporary)).toEqual([])
  }

  test('is in the user’s own cache folder, not in the temporary folder of all users', async () => {
    const home = await mkdtemp(join(top, 'home-'))
    await runAtHome(home)
    expect(await readdir(join(home, '.cache/svc'))).toHaveLength(1)
  })

  test('is not used in a home folder that belongs to another user', needsRoot, async () => {
    const home = join(top, 'nameless')
    await runAtHome(home)
    expect(await readdir(home)).not.toContain('.cache')
  })

  test.each(['HOME', 'XDG_CACHE_HOME'])('is not used in a %s that can’t hold folders', async (name) => {
    await runAtHome(await mkdtemp(join(top, 'home-')), { [name]: '/proc' })
  })

  test('is in XDG_CACHE_HOME if that is set', async () => {
    const [home, cache] = [await mkdtemp(join(top, 'home-')), await mkdtemp(join(top, 'cache-'))]
    await runAtHome(home, { XDG_CACHE_HOME: cache })
    expect([await readdir(home), await readdir(cache)]).toEqual([[], ['svc']])
  })

  test('is not used in an XDG_CACHE_HOME that belongs to another user', needsRoot, async () => {
    const cache = await mkdtemp(join(top, 'cache-'))
    await chown(cache, nameless.uid, nameless.gid)
    await runAtHome(await mkdtemp(join(top, 'home-')), { XDG_CACHE_HOME: cache })
    expect(await readdir(cache)).toEqual([])
  })
})

/** Runs a command as root of a user namespace that maps only this id, to a plain user outside. */
const runAsSoleRoot = (dataDir: string, args: string[], env: Record<string, string> = {}) =>
  svcProcess({ env: { ...loading, SVC_DATA_DIR: dataDir, ...env } }, args, {
    command: [unshare, '--map-root-user', process.execPath],
    ...(isRoot && { as: nobody }),
  })
const unshare = '/usr/bin/unshare'
const canBeRoot = spawnSync(unshare, ['--map-root-user', 'true'], isRoot ? nobody : {}).status === 0

describe('root of a user namespace that maps no other id', needsNamespaces(canBeRoot), () => {
  test('works as the plain user that it is outside, and that user can use the folder', async () => {
    const dataDir = join(top, 'nobody/sole')
    for (const args of [
      ['db', 'migrate'],
      ['accounts', 'create', '--name', 'One'],
      ['accounts', 'list'],
    ])
      expect(await runAsSoleRoot(dataDir, args), args.join(' ')).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(progressLines),
      })
    const uid = isRoot ? nobody.uid : process.getuid!()
    expect(await strange(dataDir, uid)).toEqual([])
    expect(await run(dataDir, '022', 'accounts list', isRoot ? nobody : {})).toEqual({ status: 0, stderr: '' })
  })

  test('gets a one-line error that explains what to do if it can’t create a nested namespace', async () => {
    const dataDir = join(top, 'nobody/denied')
    const ran = await runAsSoleRoot(dataDir, ['db', 'migrate'], { PATH: '/nowhere' })
    expect(ran).toMatchObject({ status: 4, stdout: '' })
    expect(ran.stderr).toMatch(/^error: The embedded database can't run as root, .*: run svc as a plain user, .*\n$/)
    expect((await readdir(dataDir)).filter((name) => /^(new\.|pgdata)/.test(name))).toEqual([])
  })
})
