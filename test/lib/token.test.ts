import { expect, test } from 'vitest'
import { createTokens } from '../../src/lib/token.ts'

const tokens = createTokens('one secret of many')

test('a token returns its subject, in any script, until it expires', () => {
  const token = tokens.sign('unsubscribe', ['acc_1', 'zoë@пример.example'], 1000)
  expect(token).toMatch(/^[\w-]+\.[\w-]+$/)
  expect(tokens.read('unsubscribe', token, 999)).toEqual(['acc_1', 'zoë@пример.example'])
  expect(tokens.read('unsubscribe', token, 1000)).toBe(null)
  expect(tokens.read('unsubscribe', tokens.sign('unsubscribe', ['a'], null), 9e15)).toEqual(['a'])
})

test('a token with a changed, added or missing character is refused', () => {
  const token = tokens.sign('unsubscribe', ['acc_1', 'a@b.example'], null)
  for (let i = 0; i < token.length; i++) {
    const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1)
    expect(tokens.read('unsubscribe', changed, 0)).toBe(null)
    expect(tokens.read('unsubscribe', token.slice(0, i), 0)).toBe(null)
  }
  for (const bad of ['', '.', '..', `${token}=`, `${token}.`, ` ${token}`])
    expect(tokens.read('unsubscribe', bad, 0)).toBe(null)
})

test('a token works only for its own purpose and secret', () => {
  const token = tokens.sign('unsubscribe', ['acc_1'], null)
  expect(tokens.read('another' as 'unsubscribe', token, 0)).toBe(null)
  expect(createTokens('another secret').read('unsubscribe', token, 0)).toBe(null)
})

test('a stamp is short, in lower case, and valid only for its purpose, text and secret', () => {
  const stamp = tokens.stamp('bounce', 'msg_1')
  expect(stamp).toMatch(/^[0-9a-f]{16}$/)
  expect(tokens.stamp('bounce', 'msg_1')).toBe(stamp)
  expect(tokens.stamp('bounce', 'msg_2')).not.toBe(stamp)
  expect(createTokens('another secret').stamp('bounce', 'msg_1')).not.toBe(stamp)
})
