import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import './test/support/compiler.ts'
import { EarlySequencer } from './test/support/order.ts'
import { EndReporter } from './test/support/reporter.ts'
import { limit, testLimitMs, waitLimitMs } from './test/support/slowness.ts'

// Shared by the workers and by every `svc` that the tests start: loading modules was a quarter of the suite's CPU time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/tests')
// No module of the tests is behind a symbolic link: looking for links was a tenth of the CPU time of a daemon's start.
process.env.NODE_PRESERVE_SYMLINKS ??= '1'

const { TEST_SEED: seed, TEST_WORKERS: workers = 4 } = process.env

// Tests run through Node's own type stripping, as the product does.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    setupFiles: ['test/support/setup.ts'],
    experimental: { viteModuleRunner: false },
    // More workers than the two cores of a small machine: many files mostly wait for processes, clocks and time-outs.
    maxWorkers: Number(workers),
    sequence: { sequencer: EarlySequencer, ...(seed && { seed: Number(seed) }) },
    reporters: ['default', new EndReporter()],
    // Files share the modules of their worker: loading them for each of more than 200 files would take minutes.
    isolate: false,
    testTimeout: testLimitMs,
    hookTimeout: testLimitMs,
    teardownTimeout: limit(60_000),
    expect: { poll: { timeout: waitLimitMs } },
  },
})
