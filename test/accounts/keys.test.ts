import { expect, test } from 'vitest'
import { createKey, listKeys, revokeKey } from '../../src/accounts/accounts.ts'
import { useApp } from '../support/app.ts'

const t = useApp()

test('a key is svc_live_ and 32 random bytes in base 62; only its hash, a prefix and four characters are stored', async () => {
  const { id, key, keyId } = await t.account()
  expect(key).toMatch(/^svc_live_[0-9A-Za-z]{43}$/)
  const [row] = await t.app.sql<Record<string, string>>('select * from api_keys where id = $1', [keyId])
  expect(JSON.stringify(row)).not.toContain(key.slice(9, -4))
  expect(row).toMatchObject({ account_id: id, prefix: key.slice(0, 13), last_four: key.slice(-4) })
  const [view] = await t.app.work(id, 'cli:test', listKeys)
  expect(JSON.stringify(view)).not.toContain(key.slice(13, -4))
})

test('a key of another account can’t be revoked', async () => {
  const mine = await t.account()
  const other = await t.account()
  await expect(t.app.work(mine.id, 'cli:test', (work) => revokeKey(work, other.keyId))).rejects.toMatchObject({
    kind: 'not_found',
  })
  expect((await t.request('GET', '/lists', { key: other.key })).status).toBe(200)
})

test('a second revocation keeps the time of the first', async () => {
  const { id } = await t.account()
  const { id: keyId } = await t.app.work(id, 'cli:test', (work) => createKey(work, { name: 'x' }))
  const first = await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  const second = await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  expect(second.revokedAt).toBe(first.revokedAt)
})
