import { createInterface } from 'node:readline'
import { openEmbedded } from '../../src/embedded/embedded.ts'

/** Opens the embedded server in a separate process: `<data folder> [native folder]`. The first line on stdin closes it. */
const [dataDir, native] = process.argv.slice(2)
const say = (message: object) => process.stdout.write(`${JSON.stringify(message)}\n`)

try {
  const embedded = await openEmbedded(dataDir!, { settings: { fsync: 'off' }, ...(native ? { native } : {}) })
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
