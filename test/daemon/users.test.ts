import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { program } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'

const isRoot = process.getuid?.() === 0
const nobody = { uid: 65_534, gid: 65_534 }
/** Of no user: no line of /etc/passwd has it. */
const nameless = { uid: 54_321, gid: 54_321 }
const canName = isRoot && spawnSync('unshare', ['--user', '--map-user=65534', 'true'], nameless).status === 0

let top: string

beforeAll(async () => {
  top = await mkdtemp(join(tmpdir(), 'svc-users-'))
  for (const [name, { uid, gid }] of Object.entries({ nobody, nameless })) {
    await mkdir(join(top, name), { mode: 0o755 })
    if (isRoot) await chown(join(top, name), uid, gid)
  }
  await chmod(top, 0o755)
})
afterAll(() => rm(top, { recursive: true, force: true, maxRetries: 5 }))

const start = (dataDir: string, umask: string, args: string, as: object = {}, env: Record<string, string> = {}) =>
  spawn('sh', ['-c', `umask ${umask}; exec "$NODE" "$SVC" ${args}`], {
    env: { PATH: process.env.PATH, NODE: process.execPath, SVC: program, SVC_DATA_DIR: dataDir, ...env },
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

/** What stands in a data folder and is not its owner's, or can be read by anybody else: no program, and no folder of passage. */
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

test.runIf(isRoot)(
  'root with no umask writes in the folder of another user what is that user’s, who goes on with it',
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
  60_000,
)

test.runIf(canName)(
  'a user id that has no name makes a data folder for itself alone, and works with it',
  async () => {
    const dataDir = join(top, 'nameless/.svc')
    expect(await run(dataDir, '000', 'accounts create --name One', nameless)).toEqual({ status: 0, stderr: '' })
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700)
    expect(await strange(dataDir, nameless.uid)).toEqual([])
  },
  60_000,
)
