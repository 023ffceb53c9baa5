import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { limit, slowness } from './support/slowness.ts'

const module = join(import.meta.dirname, 'support/slowness.ts')
const script = `import { limit, slowness } from ${JSON.stringify(module)}
console.log(JSON.stringify({ slowness, limit: limit(1000), forChildren: process.env.TEST_SLOWNESS }))`
const args = ['--input-type=module', '--eval', script]
const read = (TEST_SLOWNESS: string) => {
  const env = { PATH: process.env.PATH, TEST_SLOWNESS }
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' }))
}

test('the slowness of the machine is measured if it is not given, and passed to children', () => {
  const { slowness, limit, forChildren } = read('')
  expect(slowness).toBeGreaterThanOrEqual(1)
  expect(limit).toBe(Math.round(1000 * slowness))
  expect(forChildren).toBe(String(slowness))
})

test('a given slowness multiplies limits', () => {
  expect(read('2.5')).toEqual({ slowness: 2.5, limit: 2500, forChildren: '2.5' })
})

test('the tests of a run share one slowness', () => {
  expect(process.env.TEST_SLOWNESS).toBe(String(slowness))
  expect(limit(1000)).toBe(Math.round(1000 * slowness))
})

test.each(['0.5', 'slow', '5000'])('a slowness of %s is refused', (TEST_SLOWNESS) => {
  const { status, stderr } = spawnSync(process.execPath, args, { env: { TEST_SLOWNESS }, encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toContain('TEST_SLOWNESS must be a number from 1 to 1000')
})
