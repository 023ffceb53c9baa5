import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take 40 s and longer on two busy cores, the longest first. By size they would start late, when the other workers are idle. */
const longest = [
  'walk/readme',
  'daemon/workers',
  'store/deadlines',
  'daemon/neighbours',
  'cli/listen',
  'daemon/dev',
  'daemon/mail',
  'app/operate/backup',
  'patterns',
  'daemon/ends',
  'embedded/folder',
  'daemon/journeys',
  'embedded/embedded',
  'daemon/delivery',
  'journeys/queue',
  'embedded/lock',
  'daemon/mail-failures',
  'messages/identity/relays',
  'app/operate/status',
  'daemon/silence',
  'accounts/delete',
  'daemon/leases',
  'daemon/serve',
  'pages/liveview',
  'daemon/users',
  'contacts/write/contention',
  'messages/outbox/queue',
  'pages/console',
  'cli/broadcasts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification) =>
      longest.findIndex((file) => moduleId.endsWith(`/test/${file}.test.ts`)) + 1 || longest.length + 1
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b))
  }
}

// Tests run through Node's own type stripping, as the product does.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    experimental: { viteModuleRunner: false },
    // More workers than the two cores of a small machine: many files mostly wait for processes, clocks and time-outs.
    maxWorkers: 4,
    // Tests of one file that mostly wait may run at the same time (describe.concurrent).
    maxConcurrency: 20,
    sequence: { sequencer: LongestFirst },
    // Files share the modules of their worker: loading them for each of more than 200 files would take minutes.
    isolate: false,
    // Long enough for a busy machine, where a test that starts processes takes several times as long: only a hanging test exceeds them.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
})
