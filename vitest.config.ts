import { defineConfig } from 'vitest/config'

// Tests run through Node's own type stripping: what is tested is what runs.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    experimental: { viteModuleRunner: false },
    // Many tests wait for a time to pass: three share two cores well.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
