import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { inherited } from '../support/cli.ts'

/*
 * What svc prints to be typed next works as it stands, however svc was started: from the PATH, by npx or npm, by a path.
 */

const root = join(import.meta.dirname, '../..')
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-next-'))
  await symlink(join(root, 'bin/svc.mjs'), join(folder, 'svc'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (line: string, env: Record<string, string> = {}, cwd = folder): Promise<[number | null, string]> =>
  new Promise((resolve, reject) => {
    const child = spawnInTest('bash', ['-c', line], {
      cwd,
      // npm writes notices of its new versions to stderr too.
      env: {
        ...inherited(),
        HOME: folder,
        SVC_DATA_DIR: join(folder, 'data'),
        npm_config_update_notifier: 'false',
        ...env,
      },
    })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.stdout.resume()
    child.on('error', reject)
    child.on('close', (status) => resolve([status, stderr]))
  })

const misuse = (typed: string) => [2, `error: There is no command svc lists zzzzzz\n  next: ${typed} lists --help\n`]

test('hints use svc if it is on the PATH', async () => {
  expect(await run('svc lists zzzzzz', { PATH: `${folder}:${process.env.PATH}` })).toEqual(misuse('svc'))
})

test('hints use the path if svc was started by a path, quoted for the shell', async () => {
  expect(await run('./svc lists zzzzzz')).toEqual(misuse(join(folder, 'svc')))
  const odd = join(folder, "it's here")
  await symlink(folder, odd)
  expect(await run('"./it\'s here/svc" lists zzzzzz')).toEqual(misuse(`'${folder}/it'\\''s here/svc'`))
})

test('hints use npx svc if npx started it, and completion names the missing step', async () => {
  expect(await run('npx --offline svc lists zzzzzz', {}, root)).toEqual(misuse('npx svc'))
  const [status, said] = await run('npx --offline svc completion bash', {}, root)
  expect([status, said]).toEqual([0, expect.stringContaining('not on the PATH yet: run npm link')])
})

test('hints use svc if a process manager started bin/svc.ts', async () => {
  const line = `${process.execPath} ${join(root, 'bin/svc.ts')} lists zzzzzz`
  expect(await run(line)).toEqual(misuse('svc'))
})
