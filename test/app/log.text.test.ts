import { describe, expect, test } from 'vitest'
import { textOf } from '../../src/app/daemon/log.text.ts'

const time = new Date(2026, 10, 22, 9, 5, 7).getTime()
const lineOf = (more: object) => JSON.stringify({ level: 30, time, pid: 1, hostname: 'h', msg: 'request', ...more })

describe('the text log', () => {
  test('shows a request in one line: time, method, status, route, duration and key', () => {
    const given = { method: 'GET', route: '/api/v1/deals/:id', status: 404, ms: 1.5, account: 'acc_1', key: 'key_1' }
    expect(textOf(lineOf(given), false)).toBe('09:05:07  GET    404  /api/v1/deals/:id  1.5 ms  key_1\n')
    expect(textOf(lineOf({ method: 'POST', route: null, status: 404, ms: 1 }), false)).toBe(
      '09:05:07  POST   404  (no route)  1 ms\n',
    )
  })

  test('is coloured only on a terminal', () => {
    const given = lineOf({ method: 'GET', route: '/x', status: 503, ms: 1 })
    expect(textOf(given, true)).toContain('\u001b[31m503\u001b[0m')
    expect(textOf(given, false)).not.toContain('\u001b')
  })

  test('shows warnings and errors with their subject and their place in the code', () => {
    const err = { type: 'Error', message: 'm', stack: 'Error: m\u001b[2J\n    at f.ts:1' }
    expect(textOf(lineOf({ level: 50, msg: 'job failed', job: 'mail', failures: 2, err }), false)).toBe(
      '09:05:07  error  job failed job=mail failures=2\n  Error: m\n      at f.ts:1\n',
    )
    expect(textOf(lineOf({ level: 40, msg: 'slow' }), false)).toBe('09:05:07  warning  slow\n')
  })

  test('omits what svc dev prints itself', () => {
    expect(textOf(lineOf({ msg: 'svc is ready', url: 'http://127.0.0.1:4800' }), false)).toBe(null)
  })
})
