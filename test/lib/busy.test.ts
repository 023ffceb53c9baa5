import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isThreadBusy } from '../../src/lib/busy.ts'

test('a thread is busy while its event loop does not wait, and no longer once it does', async () => {
  isThreadBusy()
  const endsAt = performance.now() + 500
  while (performance.now() < endsAt);
  expect(isThreadBusy()).toBe(true)
  await sleep(1000)
  expect(isThreadBusy()).toBe(false)
})
