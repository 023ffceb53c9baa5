import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAccount } from '../../../src/accounts/accounts.ts'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { rotateSecret, sealedColumns } from '../../../src/app/operate/rotate.ts'
import { createSecretBox, secretFingerprint } from '../../../src/lib/secrets.ts'
import { setRelay } from '../../../src/senders/relays.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { rotateSecret as rotateWebhook } from '../../../src/webhooks/webhooks.ts'
import { svc } from '../../support/cli.ts'
import { cloneDatabase } from '../../support/database.ts'
import { eventually, subscribe } from '../../support/deliveries.ts'

const first = 'the first secret of the house'
const second = 'the second secret of the house'
const third = 'the third secret of the house'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let folder: string
let links: { token: string; stamp: string }
let webhook: { id: string; secret: string }

const env = (secret: string) => ({ DATABASE_URL: database.url, SVC_SECRET: secret, SVC_LOG_LEVEL: 'silent' })
const fileOf = async (secret: string) => {
  const file = join(folder, 'new-secret')
  await writeFile(file, `${secret}\n`)
  return file
}
/** Waits until the server has ended the sessions of what was closed before: a slow machine may take longer than the close. */
const untilAlone = async () => {
  const { sql, close } = openDatabase(database.url, { max: 1 })
  const others = `select from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`
  await eventually(async () => (await sql(others)).length === 0)
  await close()
}
const rotateNow = async (from: string, to: string, ...flags: string[]) =>
  svc({ env: env(from) }, ['secret', 'rotate', '--secret-file', await fileOf(to), '--yes', '--json', ...flags])

const rotate = async (...given: Parameters<typeof rotateNow>) => {
  await untilAlone()
  return rotateNow(...given)
}

/** Returns each sealed text with its context. */
const sealed = async () => {
  const { sql, close } = openDatabase(database.url, { max: 1 })
  const rows: { sealed: string; context: string }[] = []
  for (const { table, column, context } of sealedColumns)
    rows.push(
      ...(await sql<(typeof rows)[number]>(
        `select ${column} as sealed, ${context} as context from ${table} where ${column} is not null order by 2`,
      )),
    )
  const [row] = await sql<{ fingerprint: string }>('select secret_fingerprint as fingerprint from installation')
  await close()
  return { rows, fingerprint: row?.fingerprint }
}

const opens = async (secret: string) => {
  const { rows } = await sealed()
  const box = createSecretBox(secret)
  return rows.map((row) => box.open(row.sealed, row.context))
}

beforeEach(async () => {
  ;[database, folder] = await Promise.all([cloneDatabase(), mkdtemp(join(tmpdir(), 'svc-rotate-'))])
  const app = await openApp(readConfig({ ...env(first), SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }))
  const account = await app.operate('cli:test', (o) => createAccount(o, { name: 'One', plan: 'unlimited' }))
  const made = await subscribe(app, account.id, 'http://127.0.0.1:9/x')
  // The webhook has a former secret, too.
  const { secret } = await app.work(account.id, 'cli:test', (work) => rotateWebhook(work, app.box, made.id, '24h'))
  webhook = { id: made.id, secret }
  await app.work(account.id, 'cli:test', (work) =>
    setRelay(app, work, { url: 'smtp://me@127.0.0.1:9', password: 'open sesame', bounceAddress: null }),
  )
  // Sealed texts of features that this test does not use: inserted directly.
  await app.sql(
    `insert into payment_providers (account_id, provider, sealed_key, sealed_webhook_secret, former_sealed_key,
       former_sealed_webhook_secret, key_last4, updated_at) values ($1, 'stripe', $2, $3, $4, $5, 'st_1', now())`,
    [account.id, ...['sk_test_1', 'whsec_1', 'sk_test_0', 'whsec_0'].map((text) => app.box.seal(text, account.id))],
  )
  links = {
    token: app.tokens.sign('unsubscribe', ['acc', 'a@b.example'], null),
    stamp: app.tokens.stamp('bounce', 'msg_1'),
  }
  await app.close()
})
afterEach(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('while another process uses the old secret it is refused: exit 6, and nothing is changed', async () => {
  const app = await openApp(readConfig(env(first)))
  const before = await sealed()
  const ran = await rotateNow(first, second)
  expect(ran).toMatchObject({ status: 6, stdout: '' })
  expect(JSON.parse(ran.stderr).error).toMatch(new RegExp(`uses the old secret: ${process.pid}@`))
  expect(await sealed()).toEqual(before)
  await app.close()
})

test('without a new secret, with a short one, with the old one, and without --yes it is a usage error', async () => {
  const before = await sealed()
  const none = await svc({ env: env(first) }, ['secret', 'rotate', '--yes'])
  expect(none).toMatchObject({ status: 2, stdout: '' })
  expect(none.stderr).toMatch(/--secret-file/)
  for (const to of ['short', first]) expect(await rotate(first, to)).toMatchObject({ status: 2, stdout: '' })
  const unasked = await svc({ env: env(first) }, ['secret', 'rotate', '--secret-file', await fileOf(second)])
  expect(unasked).toMatchObject({ status: 2, stdout: '' })
  expect(unasked.stderr).toMatch(/--yes/)
  expect(await rotate(third, second)).toMatchObject({ status: 4, stdout: '' })
  expect(await sealed()).toEqual(before)
})

test('--dry-run reports the number of sealed texts and changes nothing', async () => {
  const before = await sealed()
  const ran = await rotate(first, second, '--dry-run')
  expect(ran.json).toEqual({ dryRun: true, resealed: 7 })
  expect(await sealed()).toEqual(before)
})

test('every text is sealed with the new secret, the old secret is refused, and sent links still open', async () => {
  const plain = await opens(first)
  await untilAlone()
  const ran = await svc({ env: { ...env(first), SVC_NEW_SECRET: second } }, ['secret', 'rotate', '--yes', '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  expect(ran.json).toEqual({ resealed: 7, linksKept: true })
  expect(ran.stdout + ran.stderr).not.toContain(second)
  expect((await opens(second)).toSorted()).toEqual([...plain, expect.stringMatching(/^\[\{"unsubscribe"/)].toSorted())
  expect((await sealed()).fingerprint).toBe(secretFingerprint(second))
  expect((await svc({ env: env(first) }, ['accounts', 'list'])).status).toBe(4)
  const now = await openApp(readConfig(env(second)))
  try {
    expect(now.tokens.read('unsubscribe', links.token, 0)).toEqual(['acc', 'a@b.example'])
    expect(now.tokens.isStamp('bounce', 'msg_1', links.stamp)).toBe(true)
    expect(now.tokens.sign('unsubscribe', ['acc', 'a@b.example'], null)).not.toBe(links.token)
    const [row] = await now.sql<{ sealed: string }>('select sealed_secret as sealed from delivery_targets')
    expect(now.box.open(row!.sealed, webhook.id)).toBe(webhook.secret)
  } finally {
    await now.close()
  }
})

test('after a second rotation links of every earlier secret open; after --end-links none does', async () => {
  const read = async (secret: string) => {
    const now = await openApp(readConfig(env(secret)))
    const token = now.tokens.sign('join', ['acc', 'b'], null)
    const subjects = [
      now.tokens.read('unsubscribe', links.token, 0),
      now.tokens.isStamp('bounce', 'msg_1', links.stamp),
    ]
    return now.close().then(() => ({ token, subjects }))
  }
  expect((await rotate(first, second)).json).toEqual({ resealed: 7, linksKept: true })
  expect((await rotate(second, third)).json).toEqual({ resealed: 8, linksKept: true })
  expect((await read(third)).subjects).toEqual([['acc', 'a@b.example'], true])
  expect((await rotate(third, first, '--end-links')).json).toEqual({ resealed: 8, linksKept: false })
  expect((await opens(first)).length).toBe(7)
  // The first secret is current again, so its links would open: rotate once more.
  expect((await rotate(first, second, '--end-links')).status).toBe(0)
  expect((await read(second)).subjects).toEqual([null, false])
})

test('a failure in the middle changes nothing', async () => {
  const before = await sealed()
  const own = openDatabase(database.url, { max: 2 })
  await own.sql(`update payment_providers set sealed_webhook_secret = 'v1.AAAA'`)
  const rotation = { from: first, to: second, endLinks: false, dryRun: false }
  await expect(rotateSecret(own, rotation)).rejects.toMatchObject({ kind: 'configuration' })
  const after = await sealed()
  expect(after.fingerprint).toBe(before.fingerprint)
  expect(after.rows.filter((row) => before.rows.some(({ sealed: text }) => text === row.sealed))).toHaveLength(6)
  await own.close()
})
