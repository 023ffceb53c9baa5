import { createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** Listens on `host` and `port` and accepts no connection until `gate` is opened; then it answers every request with 200. */
const { host, port, gate } = workerData as { host: string; port: number; gate: Int32Array }

const server = createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate'))
})
server.listen({ host, port, backlog: 1 }, () => {
  parentPort!.postMessage('listening')
  Atomics.wait(gate, 0, 0)
})
