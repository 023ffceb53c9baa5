import { type MessagePort, setEnvironmentData, threadId, workerData } from 'node:worker_threads'
import { processKey } from '../../src/store/notices.ts'
import { skewModule } from './skew.ts'

/** A thread of a daemon for `startJob` and `startApi`, with a clock of its own, that stands still when asked to. */
export interface ThreadData {
  /** The file that the thread runs. */
  file: string
  skewMs: number
  /** 1 while the thread stands still. */
  gate: Int32Array
  freezes: MessagePort
}

const { file, skewMs, gate, freezes } = workerData as ThreadData
freezes.on('message', () => {
  Atomics.store(gate, 0, 1)
  Atomics.notify(gate, 0)
  Atomics.wait(gate, 0, 1)
})
freezes.unref()
// Its notices come through the database, as those of another process do.
setEnvironmentData(processKey, threadId)
if (skewMs !== 0) await import(skewModule(skewMs))
await import(file)
