import { afterEach, describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { spawnInTest } from '../support/children.ts'
import { startSvc } from '../support/cli.ts'
import { startDaemon } from '../support/daemon.ts'
import { useSharedDaemon } from '../support/daemons.ts'
import { eventually } from '../support/eventually.ts'
import { limit } from '../support/slowness.ts'

const t = useApp()
const shared = useSharedDaemon()

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
let pid: number
let looks = 0

test('fails, and leaves a daemon and a rejection', async () => {
  void eventually(() => false, 10)
  void startDaemon(t, { env: { SVC_PORT: 'none' } })
  pid = (await startDaemon(t)).pid
  throw new Error('on purpose')
})
test('its daemon has ended', () => expect(isRunning(pid)).toBe(false))

test(
  'exceeds its limit, and leaves a command and a wait',
  async () => {
    pid = startSvc(t, ['status', '--watch']).pid!
    void eventually(() => ++looks < 0)
    await new Promise(() => {})
  },
  limit(500),
)
test('its command has ended, and its wait goes no further', async () => {
  expect(isRunning(pid)).toBe(false)
  const seen = looks
  // More often than the other wait would.
  let own = 0
  await eventually(() => ++own > 20)
  expect(looks).toBe(seen)
})

describe('a hook that fails', () => {
  afterEach(() => {
    throw new Error('on purpose')
  })
  test('leaves a child of a process', async () => {
    const { stdout } = spawnInTest('sh', ['-c', 'sleep 1000 & echo $!; wait'])
    pid = await new Promise((resolve) => stdout.once('data', (text) => resolve(Number(text))))
  })
})
// The child is no child of this process, so it may take a moment until its pid is gone.
test('its child has ended', () => eventually(() => !isRunning(pid)))

test('the shared daemon runs on', async () => {
  expect((await fetch(`${shared.daemon.url}/readyz`)).status).toBe(200)
})
