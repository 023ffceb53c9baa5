import { once } from 'node:events'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

test('under an older Node, the process that svc started ends with it, also by kill -9', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } })'
  const args = ['--import', `data:text/javascript,${older}`, join(root, 'bin/svc.mjs'), 'api', 'GET', '/lists']
  const env = { ...inherited(), SVC_DATA_DIR: join(folder, 'data'), SVC_PUBLIC_URL: url }
  const asked = once(server, 'request')
  const child = spawnInTest(process.execPath, args, { env })
  const closed = once(child, 'close')
  child.stdout.resume()
  child.stderr.resume()
  await asked
  process.kill(child.pid!, 'SIGKILL')
  // The output is open as long as one of the two processes lives.
  expect(await closed).toEqual([null, 'SIGKILL'])
  server.closeAllConnections()
  server.close()
})
