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
    testTimeout: 60_000,
    hookTimeout: 90_000,
  },
})
