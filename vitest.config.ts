import { defineConfig } from 'vitest/config'

// Tests run through Node's own type stripping: what is tested is what runs.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    experimental: { viteModuleRunner: false },
    maxWorkers: 2,
    // Files share a worker's modules: loading them anew for each of 150 files would take minutes.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
