import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { spawnInTest } from '../support/children.ts'
import { urlOf } from '../support/server.ts'

/* Runs vitest on the fixtures of this folder: how a run of the tests starts, and what it says. */

const root = join(import.meta.dirname, '../..')

/** Runs a fixture to its end. */
const run = (fixture: string, env: Record<string, string>) =>
  new Promise<{ status: number | null; text: string }>((resolve) => {
    const args = ['run', '--config', 'test/suite/vitest.config.ts', '--no-color', fixture]
    const child = spawnInTest(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
      cwd: root,
      env: { ...process.env, TEST_SEED: '', DATABASE_URL: urlOf(inject('serverUrl'), 'postgres'), ...env },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
    child.on('close', (status) => resolve({ status, text }))
  })

const noPrograms = { PATH: '/nowhere', CI: '' }

test('the reasons of skipped tests are listed at the end, the most frequent first', async () => {
  const { status, text } = await run('skipped', noPrograms)
  expect(text).toContain(`Skipped tests:
  3 × no-such-program is missing or does not work
  1 × fish is missing or does not work
  1 × nobody can run it
`)
  expect(status).toBe(0)
})

test('in CI a missing program that .ci/run installs is a failure', async () => {
  const { status, text } = await run('skipped', { ...noPrograms, CI: 'true' })
  expect(text).toContain('Error: fish of .ci/programs is missing or does not work')
  expect(status).toBe(1)
})

test('TEST_SEED repeats the random numbers of a run; a run that fails names it', async () => {
  const linesOf = async (env: Record<string, string>) => {
    const { status, text } = await run('order', env)
    return { status, text, lines: text.match(/^\w+=0\.\d+$/gm) ?? [] }
  }
  const failed = await linesOf({ FAILS: 'three' })
  expect(failed.status).toBe(1)
  expect(failed.lines).toHaveLength(6)
  const [, seed] = /^TEST_SEED=(\d+) repeats/m.exec(failed.text)!
  const repeated = await linesOf({ TEST_SEED: seed! })
  expect([repeated.status, repeated.lines]).toEqual([0, failed.lines])
  expect(repeated.text).not.toContain('TEST_SEED=')
})
