import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Small files that take 10 s or longer, mostly waiting. By their size they would begin last, and a run would end with idle workers: it
 * takes 15 to 50 s less on two cores if they begin early.
 */
const waiting = [
  'app/idle.test.ts',
  'cli/listen.test.ts',
  'daemon/chaos.system.test.ts',
  'daemon/mail.system.test.ts',
  'deliveries/claims.system.test.ts',
  'deliveries/workers.system.test.ts',
  'net/connect.test.ts',
  'queue/engine.test.ts',
  'queue/lease.test.ts',
  'store/copy.test.ts',
]

/** Starts large files first, as vitest does, and at the beginning every other file is one that mostly waits. */
export class EarlySequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = waiting.filter((name) => !existsSync(join(import.meta.dirname, '..', name)))
    if (missing.length > 0)
      throw new Error(`test/support/order.ts names files that do not exist: ${missing.join(', ')}`)
    const sorted = await super.sort(files)
    const isWaiting = ({ moduleId }: TestSpecification) => waiting.some((name) => moduleId.endsWith(`/test/${name}`))
    const [early, others] = [sorted.filter(isWaiting), sorted.filter((file) => !isWaiting(file))]
    return [...early.flatMap((file, i) => [file, ...others.slice(i, i + 1)]), ...others.slice(early.length)]
  }
}
