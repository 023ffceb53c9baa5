import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { isUnavailable, openDatabase } from '../../src/store/database.ts'

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const authenticated = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))
const terminated = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'))

test('a connection that the server ends in the packet that opens it fails only its own statement', async () => {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {}).once('data', () => socket.end(Buffer.concat([authenticated, ready, terminated])))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const fatal: unknown[] = []
  const onFatal = (error: unknown) => void fatal.push(error)
  process.prependListener('uncaughtException', onFatal)
  const database = openDatabase(`postgres://svc:x@127.0.0.1:${port}/svc`)
  try {
    const ends = [database.sql('select 1'), database.transaction((sql) => sql('select 1'))]
    for (const end of ends) expect(isUnavailable(await end.catch((error) => error))).toBe(true)
    expect(fatal).toEqual([])
  } finally {
    process.off('uncaughtException', onFatal)
    await database.close()
    server.close()
  }
})
