import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { needsRoot } from '../support/needs.ts'
import { inScope } from '../support/scope.ts'

/** Starts processes until one has this pid, which belongs to none. */
const startWithPid = async (pid: number): Promise<ChildProcess> => {
  for (;;) {
    await writeFile('/proc/sys/kernel/ns_last_pid', String(pid - 1))
    const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
    if (child.pid === pid) return child
    child.kill()
    await once(child, 'exit')
  }
}

test('the end of a test kills no process that got the number of one that had ended', needsRoot, async () => {
  let other!: ChildProcess
  await inScope(async () => {
    const child = spawnInTest('true', [])
    await once(child, 'exit')
    other = await startWithPid(child.pid!)
    onTestFinished(() => void other.kill())
  })
  // A signal that was sent before has an effect before one that is sent later.
  other.kill('SIGTERM')
  expect(await once(other, 'exit')).toEqual([null, 'SIGTERM'])
})
