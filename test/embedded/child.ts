import { createInterface } from 'node:readline'
import { openEmbedded } from '../../src/embedded/embedded.ts'

/** Opens the embedded server in a separate process: `<data folder> [native folder]`. The first line on stdin closes it. */
const [dataDir, native] = process.argv.slice(2)
const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`)

// With mmap, a killed server leaves its shared memory in its own folder, not in /dev/shm.
const settings = { fsync: 'off', dynamic_shared_memory_type: 'mmap' }

try {
  const embedded = await openEmbedded(dataDir!, { settings, ...(native ? { native } : {}) })
  say({ url: embedded.url })
  for await (const _ of createInterface(process.stdin)) break
  await embedded.close()
  say({ closed: true })
  process.exit(0)
} catch (error) {
  const { kind, message } = error as Error & { kind?: string }
  say({ kind, message })
  process.exit(1)
}
