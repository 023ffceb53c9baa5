import { execFile } from 'node:child_process'
import { chmod, lchown, mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { svc, svcProcess } from '../support/cli.ts'
import { needsRoot } from '../support/needs.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-places-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('without SVC_DATA_DIR', () => {
  /** Creates a data folder in `folder` and returns a folder two levels below. */
  const project = async () => {
    // Root runs the database as another user, which must be able to enter the folder.
    await chmod(folder, 0o755)
    const below = join(folder, 'a/b')
    await mkdir(below, { recursive: true })
    expect((await svc({ env: {} }, ['db', 'migrate'], { cwd: folder })).status).toBe(0)
    return below
  }

  test('a command finds the nearest data folder above and creates none of its own', async () => {
    const below = await project()
    const made = await svc({ env: {} }, ['accounts', 'create', '--name', 'Acme', '--json'], { cwd: below })
    expect(made.status).toBe(0)
    const listed = await svc({ env: {} }, ['accounts', 'list', '--json'], { cwd: folder })
    expect(listed.json.accounts).toMatchObject([{ name: 'Acme' }])
    const settings = (await svc({ env: {} }, ['config', '--json'], { cwd: below })).json.settings
    expect(settings).toContainEqual({ name: 'SVC_DATA_DIR', value: join(folder, '.svc'), source: 'default' })
    expect((await svc({ env: {} }, ['mail', 'list', '--json'], { cwd: below })).json).toEqual({ mail: [] })
    // Commands that create a data folder use this one, too.
    expect((await svc({ env: {} }, ['db', 'migrate', '--json'], { cwd: below })).json.applied).toEqual([])
    expect(await readdir(below)).toEqual([])
    // SVC_DATA_DIR is used even if another data folder is nearer.
    const named = await svc({ env: { SVC_DATA_DIR: join(folder, '.svc') } }, ['accounts', 'list', '--json'])
    expect(named.json.accounts).toMatchObject([{ name: 'Acme' }])
  })

  test('a data folder above that belongs to another user is ignored', needsRoot, async () => {
    const below = await project()
    await promisify(execFile)('chown', ['-R', '65534:65534', join(folder, '.svc')])
    const listed = () => svc({ env: {} }, ['accounts', 'list'], { cwd: below })
    expect((await listed()).status).toBe(7)
    await promisify(execFile)('chown', ['-R', '0:0', join(folder, '.svc')])
    // The owner of a symbolic link counts, not the owner of its target.
    await rename(join(folder, '.svc'), join(folder, 'data'))
    await symlink(join(folder, 'data'), join(folder, '.svc'))
    await lchown(join(folder, '.svc'), 65_534, 65_534)
    expect((await listed()).status).toBe(7)
    expect(await readdir(below)).toEqual([])
  })
})

describe('in a data folder of another user', needsRoot, () => {
  const nobody = { uid: 65_534, gid: 65_534 }

  test.each([
    ['secret', {}],
    ['catcher', { SVC_SECRET: 'a secret of the environment' }],
  ])('whose file %s this user can’t read, each command says what to do: exit 4', async (file, settings) => {
    await chmod(folder, 0o755)
    const dataDir = join(folder, 'data')
    await mkdir(dataDir, { mode: 0o711 })
    await writeFile(join(dataDir, file), 'only for its owner', { mode: 0o600 })
    const run = (...args: string[]) =>
      svcProcess({ env: { SVC_DATA_DIR: dataDir, ...settings } }, [...args, '--json'], { as: nobody })
    const error = `The file ${join(dataDir, file)} can't be read (EACCES)`
    const hint = 'run svc as the user that owns the data folder, or set SVC_DATA_DIR to another folder'
    for (const command of ['lists', 'config', 'serve']) {
      const { status, stdout, stderr } = await run(command)
      expect([command, status, stdout, stderr]).toEqual([command, 4, '', `${JSON.stringify({ error, hint })}\n`])
    }
    const { status, json } = await run('doctor')
    expect([status, json.checks[1]]).toEqual([
      1,
      { name: 'configuration', status: 'fail', message: `${error}: ${hint}` },
    ])
  })
})
