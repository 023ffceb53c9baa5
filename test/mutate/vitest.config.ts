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

const report = { reporters: ['json'], outputFile: process.env.MUTATE_REPORT! }
export default defineConfig({
  test: { ...base.test, ...report, maxWorkers: 1, bail: 1, sequence: { sequencer: Given } },
})
