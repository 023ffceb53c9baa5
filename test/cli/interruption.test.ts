import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { watchInterruption } from '../../src/cli/interruption.ts'

test('an interruption ends the wait for standard input', async () => {
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  const others = process.listeners('SIGTERM')
  Object.defineProperty(process, 'stdin', { configurable: true, value: new PassThrough() })
  const interruption = watchInterruption(() => null)
  try {
    const waiting = text(process.stdin)
    const [watcher] = process.listeners('SIGTERM').filter((listener) => !others.includes(listener))
    watcher!('SIGTERM')
    await expect(waiting).rejects.toThrow('Premature close')
    expect(interruption.status).toBe(143)
  } finally {
    interruption.end()
    Object.defineProperty(process, 'stdin', stdin)
  }
})
