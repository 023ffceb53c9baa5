import { defineConfig } from 'vitest/config'

// Tests run through Node's own type stripping: what is tested is what runs.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    experimental: { viteModuleRunner: false },
    // More than the two cores of a small machine: a third of the files mostly wait for processes, clocks and time-outs.
    maxWorkers: 3,
    // Files share a worker's modules: loading them anew for each of 150 files would take minutes.
    isolate: false,
    // Only what hangs runs into these: on a busy machine a test that starts processes takes many times what it does alone.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
