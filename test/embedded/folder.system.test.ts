import { execFile } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { stopEmbedded } from '../../src/embedded/embedded.ts'
import { spawnInTest } from '../support/children.ts'
import { inherited, program, progressLines } from '../support/cli.ts'
import { migratedDataFolder } from '../support/folder.ts'
import { isRoot, needsRoot } from '../support/needs.ts'
import { query, startUser } from './support.ts'

const nobody = { uid: 65_534, gid: 65_534 }

let top: string
/** A folder of root next to the data folder. No command on the data folder may change it. */
let vault: string

const svc = async (dataDir: string, args: string[], { as = {}, env = {} }: { as?: object; env?: object } = {}) => {
  const child = spawnInTest(process.execPath, [program, ...args], {
    env: { ...inherited(), SVC_DATA_DIR: dataDir, ...env },
    cwd: '/',
    ...as,
  })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  child.stdout.resume()
  const [status] = await once(child, 'close')
  return { status, stderr }
}

const secretText = 'root only\n'

/** Creates a file that belongs to root. */
const file = async (name: string) => {
  const path = join(vault, name)
  await writeFile(path, secretText, { mode: 0o600 })
  return path
}

/** Creates a folder that belongs to the user `nobody`. */
const foreignFolder = async (path: string) => {
  await mkdir(path, { mode: 0o700 })
  await chown(path, nobody.uid, nobody.gid)
  return path
}

/** Creates a data folder with a database. */
const putCluster = async (path: string) => rename(await migratedDataFolder(), path)

/** The same, all of which belongs to the user `nobody`. */
const foreignDataFolder = async (path: string) => {
  await putCluster(path)
  await promisify(execFile)('chown', ['-R', `${nobody.uid}:${nobody.gid}`, path])
  return path
}

/** Returns the owner, mode and content of everything in the vault. */
const vaultState = async () => {
  const names = (await readdir(vault, { recursive: true })).sort()
  return Promise.all(
    ['.', ...names].map(async (name) => {
      const path = join(vault, name)
      const { uid, gid, mode } = await lstat(path)
      const text = (await stat(path)).isFile() ? await readFile(path, 'utf8') : null
      return { name, uid, gid, mode, text }
    }),
  )
}

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'svc-folder-'))
  await chmod(top, 0o755)
  vault = join(top, 'vault')
  await mkdir(vault, { mode: 0o700 })
})
afterEach(() => rm(top, { recursive: true, force: true, maxRetries: 5 }))

describe('root in a data folder of another user', needsRoot, () => {
  test('follows no link of that user, so no file of root is deleted, changed or handed over', async () => {
    const dataDir = await foreignFolder(join(top, '.svc'))
    await mkdir(join(vault, 'folder'))
    await file('folder/kept')
    const links = { 'new.0011223344556677': 'folder' } as Record<string, string>
    for (const name of ['building.lock', 'postgres.log']) links[name] = name
    for (const name of Object.values(links)) if (name !== 'folder') await file(name)
    for (const [name, target] of Object.entries(links)) await symlink(join(vault, target), join(dataDir, name))
    const before = await vaultState()
    const { status, stderr } = await svc(dataDir, ['db', 'migrate'])
    expect(await vaultState()).toEqual(before)
    expect(stderr).toMatch(/^error: /)
    expect(status).toBe(4)
    // Without the links the same command works, and its files belong to the owner of the folder.
    for (const name of ['building.lock', 'postgres.log']) await rm(join(dataDir, name))
    expect(await svc(dataDir, ['db', 'migrate'])).toEqual({ status: 0, stderr: expect.stringMatching(progressLines) })
    expect(await vaultState()).toEqual(before)
    const owners = await Promise.all(
      (await readdir(dataDir)).map(async (name) => (await lstat(join(dataDir, name))).uid),
    )
    expect([...new Set(owners.filter((uid) => uid !== 0))]).toEqual([nobody.uid])
    expect((await stat(join(dataDir, 'pgdata'))).uid).toBe(nobody.uid)
  })

  test.each([
    ['secret', ['db', 'migrate']],
    ['secret.new', ['secret', 'rotate', '--yes']],
    ['postgres.password', ['db', 'migrate']],
    ['postgres.port', ['db', 'migrate']],
  ])('neither reads nor writes a file of root through a link named %s', async (name, args) => {
    const make = name === 'secret.new' ? foreignDataFolder : foreignFolder
    const dataDir = await make(join(top, '.svc'))
    const target = await file('private')
    await symlink(target, join(dataDir, name))
    const before = await vaultState()
    const { status, stderr } = await svc(dataDir, args)
    expect(await vaultState()).toEqual(before)
    expect(stderr).not.toContain(secretText.trim())
    expect(status).toBe(4)
  })

  test('removes no file of root if the folder of caught mail is a link', async () => {
    const dataDir = await foreignFolder(join(top, '.svc'))
    await file('msg_1.json')
    await symlink(vault, join(dataDir, 'mail'))
    const before = await vaultState()
    await svc(dataDir, ['mail', 'clear', '--yes'])
    expect(await vaultState()).toEqual(before)
  })

  test('also works as that user if only a parent folder or a link in the path belongs to that user', async () => {
    const home = await foreignFolder(join(top, 'home'))
    await chmod(home, 0o755)
    await symlink(vault, join(home, 'linked'))
    const before = await vaultState()
    expect((await svc(join(home, 'linked'), ['db', 'migrate'])).status).toBe(4)
    expect((await svc(join(home, 'linked/deeper/.svc'), ['db', 'migrate'])).status).toBe(4)
    expect(await vaultState()).toEqual(before)
    const dataDir = join(home, 'project/.svc')
    expect(await svc(dataDir, ['db', 'migrate'])).toEqual({ status: 0, stderr: expect.stringMatching(progressLines) })
    expect((await stat(dataDir)).uid).toBe(nobody.uid)
  })

  test('still reads settings that only root may read', async () => {
    const dataDir = await foreignDataFolder(join(top, '.svc'))
    const secret = join(vault, 'secret')
    await rename(join(dataDir, 'secret'), secret)
    await chown(secret, 0, 0)
    const env = { SVC_SECRET_FILE: secret }
    expect(await svc(dataDir, ['accounts', 'list'], { env })).toMatchObject({ status: 0 })
    // A restore reads its file, too.
    expect(await svc(dataDir, ['db', 'restore', await file('private')], { env })).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('not a backup'),
    })
  })
})

describe('a data folder that other users may write', () => {
  test.each(['777', '775', '1777'])('mode %s: creates no cluster, and the error says what to do', async (mode) => {
    const dataDir = join(top, '.svc')
    await mkdir(dataDir)
    if (isRoot) await chown(dataDir, nobody.uid, nobody.gid)
    await chmod(dataDir, Number.parseInt(mode, 8))
    const { status, stderr } = await svc(dataDir, ['db', 'migrate'], { as: isRoot ? nobody : {} })
    expect(stderr).toMatch(/^error: Other users can write to the data folder .*\n {2}next: chmod go-w .*\n$/)
    expect(status).toBe(4)
    expect(await readdir(dataDir)).toEqual([])
  })

  test('root refuses it with any content, and changes nothing', needsRoot, async () => {
    const dataDir = join(top, '.svc')
    await putCluster(dataDir)
    await chmod(dataDir, 0o777)
    await mkdir(join(vault, 'folder'))
    await symlink(join(vault, 'folder'), join(dataDir, 'new.0011223344556677'))
    const before = [await vaultState(), (await readdir(dataDir)).sort()]
    const { status, stderr } = await svc(dataDir, ['accounts', 'list'])
    expect(stderr).toMatch(/^error: Other users can write to the data folder .*\n/)
    expect(status).toBe(4)
    expect([await vaultState(), (await readdir(dataDir)).sort()]).toEqual(before)
  })

  test('root refuses one inside a folder that every user may write', needsRoot, async () => {
    const open = join(top, 'open')
    await mkdir(open)
    await chmod(open, 0o777)
    const { status, stderr } = await svc(join(open, '.svc'), ['accounts', 'list'])
    expect(stderr).toMatch(/Other users can write to the data folder/)
    expect(status).toBe(4)
    expect(await readdir(open)).toEqual([])
  })
})

describe('root and the user that its database runs as', needsRoot, () => {
  test.each([
    ['symbolic', symlink],
    ['hard', link],
  ])(
    'the server does not start if the file for the lock of the cluster is a %s link to a file of root',
    async (_, make) => {
      const dataDir = join(top, '.svc')
      await putCluster(dataDir)
      const target = await file('private')
      await rm(join(dataDir, 'pgdata/PG_VERSION'))
      await make(target, join(dataDir, 'pgdata/PG_VERSION'))
      const { status, stderr } = await svc(dataDir, ['accounts', 'list'], {
        env: { SVC_SECRET: 'the secret of this cluster' },
      })
      expect(stderr).toMatch(/^error: .*PG_VERSION/)
      expect(status).toBe(4)
    },
  )

  test('removes what an interrupted start left in the folder, but nothing outside it through links', async () => {
    const dataDir = join(top, '.svc')
    await putCluster(dataDir)
    const left = join(dataDir, 'new.0011223344556677')
    await mkdir(join(left, 'data'), { recursive: true })
    await mkdir(join(vault, 'folder'))
    await file('folder/kept')
    await symlink(join(vault, 'folder'), join(left, 'data/link'))
    await symlink(join(vault, 'folder'), join(dataDir, 'new.8899aabbccddeeff'))
    for (const name of ['data', '']) await chown(join(left, name), nobody.uid, nobody.gid)
    const before = await vaultState()
    const user = startUser([dataDir])
    expect(await query((await user.next()).url, 'select 1')).toBe(1)
    await user.close()
    expect(await vaultState()).toEqual(before)
    expect((await readdir(dataDir)).filter((name) => name.startsWith('new.'))).toEqual([])
    expect(await stopEmbedded(dataDir)).toBe('not running')
  })
})
