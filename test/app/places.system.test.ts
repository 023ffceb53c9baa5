import { execFile } from 'node:child_process'
import { chmod, lchown, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { svc } from '../support/cli.ts'
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
