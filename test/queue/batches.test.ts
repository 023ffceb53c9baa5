import { expect, test } from 'vitest'
import { createBatches } from '../../src/queue/batches.ts'
import { limit } from '../support/slowness.ts'

const unavailable = () => Object.assign(new Error('away'), { code: '08006' })

/** Opens batches of numbers. A batch fails with the error that `refuse` returns, if any. */
const open = (
  refuse: (batch: readonly number[]) => unknown,
  locked: (batch: readonly number[]) => number[] = () => [],
) => {
  const batches: number[][] = []
  const failed: number[] = []
  /** What happened, in order. */
  const log: string[] = []
  const pipe = createBatches<number>(10, {
    async run(batch) {
      batches.push([...batch])
      log.push(`run ${batch}`)
      const error = refuse(batch)
      if (error) throw error
      return locked(batch)
    },
    failed(item) {
      failed.push(item)
      log.push(`failed ${item}`)
    },
  })
  return { pipe, batches, failed, log }
}

test('items that are pushed while a batch runs form the next batch, in order', async () => {
  const { pipe, batches } = open(() => null)
  pipe.push([1])
  pipe.push([2, 3])
  await pipe.flush(limit(5000))
  pipe.push(Array.from({ length: 12 }, (_, n) => n))
  await pipe.flush(limit(5000))
  expect(batches.map((batch) => batch.length)).toEqual([3, 10, 2])
})

test('an item that fails on its own is tried once more and then given up; the rest of its batch succeeds at once', async () => {
  const { pipe, log } = open((batch) => batch.includes(2) && new TypeError('no'))
  pipe.push([1, 2, 3])
  await pipe.flush(limit(5000))
  expect(log).toEqual(['run 1,2,3', 'run 1', 'run 2', 'run 3', 'run 2', 'failed 2'])
})

test('while the database is unavailable the batch waits and the pipe is stuck; no item is given up', async () => {
  let isAway = true
  const { pipe, batches, failed } = open(() => isAway && unavailable())
  pipe.push([1, 2])
  await expect.poll(() => batches.length).toBeGreaterThan(1)
  expect(pipe.isStuck).toBe(true)
  isAway = false
  await pipe.flush(limit(5000))
  expect([pipe.isStuck, failed, batches.at(-1)]).toEqual([false, [], [1, 2]])
})

test('only the items whose rows are locked are tried again', async () => {
  let isLocked = true
  const { pipe, batches } = open(
    () => null,
    (batch) => (isLocked ? batch.filter((item) => item === 2) : []),
  )
  pipe.push([1, 2, 3])
  await expect.poll(() => batches.length).toBeGreaterThan(1)
  isLocked = false
  await pipe.flush(limit(5000))
  expect(batches.slice(1).every((batch) => batch.length === 1 && batch[0] === 2)).toBe(true)
})

test('closing stops the retries of items that cannot be written', async () => {
  const { pipe, batches } = open(unavailable)
  pipe.push([1])
  await pipe.close(300)
  const tries = batches.length
  await expect.poll(() => pipe.isIdle).toBe(true)
  expect(batches.length).toBeLessThanOrEqual(tries + 1)
})
