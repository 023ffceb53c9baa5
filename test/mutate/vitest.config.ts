import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import base from '../../vitest.config.ts'

/** Runs the files in the order in which the command names them: the nearest first. */
class Given extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => process.argv.findIndex((arg) => moduleId.endsWith(arg))
    return files.sort((a, b) => place(a) - place(b))
  }
}

const { MUTATE_REPORT, MUTATE_TEST_LIMIT } = process.env
const report = { reporters: ['json'], outputFile: MUTATE_REPORT! }
const limitMs = Number(MUTATE_TEST_LIMIT)
// A fault makes tests wait for what never comes. Without faults, no test takes a fifth of it.
const limits = limitMs > 0 && { testTimeout: limitMs, hookTimeout: limitMs }
export default defineConfig({
  test: { ...base.test, ...report, ...limits, maxWorkers: 1, bail: 1, sequence: { sequencer: Given } },
})
