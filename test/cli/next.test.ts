import { join } from 'node:path'
import { expect, test } from 'vitest'
import { asTyped, invocation } from '../../src/cli/next.ts'

const own = join(import.meta.dirname, '../../bin/svc.ts')

test.each<[string, Record<string, string>, string, string]>([
  ['by npx or npm', { npm_command: 'exec' }, own, 'npx svc'],
  ['by a process manager', {}, own, 'svc'],
  ['by a path that is gone', {}, '/nowhere/svc', 'svc'],
])('svc that was started %s is named as it can be typed', (_, env, path, typed) => {
  expect(invocation({ ...process, env, argv: ['node', path] })).toBe(typed)
})

test('commands in a sentence are replaced by what the user types; values of flags are not', () => {
  const kept = process.env.npm_command
  process.env.npm_command = 'exec'
  try {
    expect(asTyped('svc dev or svc db migrate makes one (svc status lists them); openssl rand | cat; svc x')).toBe(
      'npx svc dev or npx svc db migrate makes one (npx svc status lists them); openssl rand | cat; npx svc x',
    )
    expect(asTyped('set SVC_PORT; /opt/svc is kept, as svc.backup is')).toBe(
      'set SVC_PORT; /opt/svc is kept, as svc.backup is',
    )
    expect(asTyped("svc lists create --name 'my svc list'")).toBe("npx svc lists create --name 'my svc list'")
  } finally {
    if (kept === undefined) delete process.env.npm_command
    else process.env.npm_command = kept
  }
})
