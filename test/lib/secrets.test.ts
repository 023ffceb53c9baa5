import { describe, expect, test } from 'vitest'
import { createSecretBox } from '../../src/lib/secrets.ts'

const box = createSecretBox('a secret of enough characters')
const refusal = expect.objectContaining({ kind: 'configuration', message: expect.stringContaining('SVC_SECRET') })

describe('stored secrets', () => {
  test.each(['', 'whsec_abc', 'naïve 秘密 🔑'])('%j is the same after seal and open', (plain) => {
    const sealed = box.seal(plain, 'whk_1')
    expect(sealed).toMatch(/^v1\.[A-Za-z0-9_-]+$/)
    expect(createSecretBox('a secret of enough characters').open(sealed, 'whk_1')).toBe(plain)
  })

  test('sealing twice returns two different texts without the secret', () => {
    expect(box.seal('whsec_abc', 'whk_1')).not.toBe(box.seal('whsec_abc', 'whk_1'))
    expect(Buffer.from(box.seal('whsec_abc', 'whk_1').slice(3), 'base64url').toString('latin1')).not.toContain(
      'whsec_abc',
    )
  })

  test('a sealed text does not open in another row', () => {
    expect(() => box.open(box.seal('whsec_abc', 'whk_1'), 'whk_2')).toThrow(refusal)
  })

  test('a sealed text does not open with another SVC_SECRET', () => {
    const sealed = createSecretBox('another secret of enough characters').seal('whsec_abc', 'whk_1')
    expect(() => box.open(sealed, 'whk_1')).toThrow(refusal)
  })

  test('a changed, truncated or unversioned text does not open', () => {
    const sealed = box.seal('whsec_abc', 'whk_1')
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i]! ^= 1
      expect(() => box.open(`v1.${changed.toString('base64url')}`, 'whk_1')).toThrow(refusal)
    }
    for (const text of ['', 'v1.', 'v1.AAAA', `v2.${sealed.slice(3)}`, sealed.slice(3), sealed.slice(0, -4)]) {
      expect(() => box.open(text, 'whk_1')).toThrow(refusal)
    }
  })
})
