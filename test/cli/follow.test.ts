import { expect, test } from 'vitest'
import type { Context } from '../../src/cli/command.ts'
import { follow } from '../../src/cli/follow.ts'
import { openDatabase } from '../../src/store/database.ts'

const patience = 300

/** Returns the context of a command whose database accepts no connection. */
const away = () => {
  const notes: string[] = []
  const app = { database: openDatabase('postgres://nobody@127.0.0.1:1/none') }
  const out = { format: 'table', note: (text: string) => void notes.push(text) }
  const { signal } = new AbortController()
  return { notes, context: { app, out, exit: () => {}, signal } as unknown as Context }
}
const refused = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))

test('a follower ends as unavailable if the database stays unreachable or does not respond', async () => {
  for (const look of [refused, () => new Promise<void>(() => {})]) {
    const { context } = away()
    const startedAt = performance.now()
    await expect(follow(context, 'svc_test', look, patience)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(performance.now() - startedAt).toBeGreaterThan(patience - 10)
  }
})

test('a follower waits until the database is back, reports it, and waits as long at the next outage', async () => {
  const { context, notes } = away()
  let looks = 0
  const look = () => (++looks === 2 ? Promise.resolve() : refused())
  await expect(follow(context, 'svc_test', look, 1500)).rejects.toMatchObject({ kind: 'unavailable' })
  const said = [
    'The database is unavailable: waiting for it.',
    'The database is available again.',
    'The database is unavailable: waiting for it.',
  ]
  expect(notes.slice(1)).toEqual(said)
  expect(looks).toBeGreaterThan(3)
})
