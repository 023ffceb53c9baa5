import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'

export interface BlackHole {
  /** From now on it accepts connections and answers 200 `late`. Waiting clients connect with their next SYN, after 1 s. */
  open(): void
  close(): Promise<void>
}

/** An address and port that drop every SYN: the listener accepts no connection and its queue is full. */
export const openBlackHole = async (host: string, port: number): Promise<BlackHole> => {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('./black-hole.worker.ts', import.meta.url), { workerData: { host, port, gate } })
  await once(worker, 'message')
  const fillers = Array.from({ length: 4 }, () => connect(port, host).on('error', () => {}))
  await once(fillers[0]!, 'connect')
  await new Promise((resolve) => setTimeout(resolve, 50))
  const open = () => {
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
  }
  return {
    open,
    async close() {
      for (const socket of fillers) socket.destroy()
      open()
      await worker.terminate()
    },
  }
}
