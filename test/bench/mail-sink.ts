// A relay in a separate process that accepts all email and stores none. Sends its parent its port, and its count on request.
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

let count = 0

const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  authOptional: true,
  disableReverseLookup: true,
  onData(stream, _session, done) {
    stream.resume().on('end', () => {
      count++
      done()
    })
  },
})
process.on('message', () => process.send!(count))
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send!((server.server.address() as AddressInfo).port))
