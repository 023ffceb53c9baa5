import { defineConfig } from 'vitest/config'
import config from '../../vitest.config.ts'

// A suite of its own, which suite.system.test.ts runs with the settings of the real one.
export default defineConfig({ ...config, test: { ...config.test, include: ['test/suite/*.fixture.ts'] } })
