// A receiver in a separate process, so that it costs the sender only CPU. Sends its parent the arrival times (epoch ms, by
// the event id in the header) on request; it never answers paths under /hang.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

let count = 0
const arrivals = new Map<string, number>()

const server = createServer((request, response) => {
  const at = performance.timeOrigin + performance.now()
  request.resume().on('end', () => {
    if (request.url?.startsWith('/hang')) return
    count++
    if (request.url?.startsWith('/timed')) arrivals.set(String(request.headers['x-service-idempotency-key']), at)
    response.end()
  })
})
process.on('message', (message) => {
  if (message === 'count') process.send!(count)
  else {
    process.send!([...arrivals])
    arrivals.clear()
  }
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
