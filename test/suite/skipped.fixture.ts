import { describe, test } from 'vitest'
import { needs, skipUnless } from '../support/needs.ts'

test('runs', needs('sh', true), () => {})
test('of Debian', needs('fish'), () => {})
test('of nobody', needs('no-such-program'), () => {})
describe('a group', needs('no-such-program'), () => {
  test('one', () => {})
  test('two', () => {})
})
test('a right', skipUnless(false, 'nobody can run it'), () => {})
