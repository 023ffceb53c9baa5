import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { startSvc, svcProcess } from '../support/cli.ts'

const t = useApp()

test('svc --help needs no database', async () => {
  const ran = await svcProcess({ env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } }, ['--help'])
  expect(ran).toMatchObject({ status: 0, stderr: '' })
  expect(ran.stdout).toContain('Usage: svc')
})

test('exit statuses are those of the process', async () => {
  const ends = [['nonsense'], ['accounts', 'show', 'nobody'], ['accounts', 'list']].map((args) => svcProcess(t, args))
  expect((await Promise.all(ends)).map(({ status }) => status)).toEqual([2, 3, 0])
})

test('a reader that closes the pipe is not a failure', async () => {
  const child = startSvc(t, ['plans', 'list'])
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const status = await new Promise((resolve) => child.on('close', resolve))
  expect([status, stderr]).toEqual([0, ''])
})

test('output that can not be written is exit 1, also of a command without a database', async () => {
  const command = ['sh', '-c', `exec ${process.execPath} "$0" "$@" > /dev/full`]
  for (const args of [
    ['completion', 'bash'],
    ['plans', 'list', '-q'],
  ])
    expect(await svcProcess(t, args, { command })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("The output can't be written (ENOSPC)"),
    })
})

test('NO_COLOR and --no-color take precedence over FORCE_COLOR, without a warning', async () => {
  const env = { FORCE_COLOR: '1', NO_COLOR: '1' }
  expect(await svcProcess(t, ['plans', 'show', 'free', '-q'], { env })).toMatchObject({ status: 0, stderr: '' })
  const coloured = await svcProcess(t, ['plans', 'show', 'free', '-q', '--no-color'], { env: { FORCE_COLOR: '1' } })
  expect(coloured).toMatchObject({ status: 0, stderr: '' })
})
