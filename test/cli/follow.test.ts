import { expect, test } from 'vitest'
import type { Context } from '../../src/cli/command.ts'
import { follow } from '../../src/cli/follow.ts'

const patience = 300

/** A command whose database takes no connection. */
const away = () => {
  const notes: string[] = []
  const app = { database: { connect: () => Promise.reject(new Error('refused')) } }
  const out = { format: 'table', note: (text: string) => void notes.push(text) }
  const { signal } = new AbortController()
  return { notes, context: { app, out, exit: () => {}, signal } as unknown as Context }
}
const refused = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))

test('a follower ends as unavailable where the database stays away, and where it is silent', async () => {
  for (const look of [refused, () => new Promise<void>(() => {})]) {
    const { context } = away()
    const startedAt = performance.now()
    await expect(follow(context, 'svc_test', look, patience)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(performance.now() - startedAt).toBeGreaterThan(patience - 10)
  }
})

test('a follower waits for a database that comes back, says so, and has as long the next time', async () => {
  const { context, notes } = away()
  let looks = 0
  const look = () => (++looks === 2 ? Promise.resolve() : refused())
  await expect(follow(context, 'svc_test', look, 1500)).rejects.toMatchObject({ kind: 'unavailable' })
  const said = [
    'The database is away: waiting for it.',
    'The database is back.',
    'The database is away: waiting for it.',
  ]
  expect(notes.slice(1)).toEqual(said)
  expect(looks).toBeGreaterThan(3)
})
