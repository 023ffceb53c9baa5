import { defineConfig } from 'vitest/config'

// Tests run through Node's own type stripping: what is tested is what runs.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    experimental: { viteModuleRunner: false },
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
