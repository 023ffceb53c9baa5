import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAddress } from '../../../src/app/config.ts'
import { svc } from '../../support/cli.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-config-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Setting {
  name: string
  value: unknown
  source: string
}

const settings = async (env: Record<string, string>) => {
  const ran = await svc({ env }, ['config', '--json'])
  expect(ran).toMatchObject({ status: 0, stderr: '' })
  expect(Object.keys(ran.json)).toEqual(['settings'])
  for (const setting of ran.json.settings) expect(Object.keys(setting)).toEqual(['name', 'value', 'source'])
  return Object.fromEntries((ran.json.settings as Setting[]).map(({ name, value, source }) => [name, [value, source]]))
}

test('svc config shows each setting with its value and its source', async () => {
  const shown = await settings({
    SVC_DATA_DIR: join(folder, 'none'),
    SVC_PORT: '4900',
    SVC_TRUST_PROXY: '10.0.0.0/8, ::1',
  })
  expect(Object.keys(shown)).toEqual(
    expect.arrayContaining(
      `DATABASE_URL SVC_DATA_DIR SVC_HOST SVC_PORT SVC_PUBLIC_URL SVC_SECRET SVC_SMTP_URL SVC_DNS_SERVERS SVC_ALLOW_PRIVATE_WEBHOOKS SVC_RATE_LIMIT SVC_RATE_LIMIT_WEBHOOKS SVC_LOG_LEVEL SVC_RATE_LIMIT_FORMS SVC_RATE_LIMIT_PUBLIC SVC_TRUST_PROXY SVC_STRIPE_API_URL`.split(
        ' ',
      ),
    ),
  )
  expect(shown).toMatchObject({
    DATABASE_URL: [null, 'default'],
    SVC_DATA_DIR: [join(folder, 'none'), 'environment'],
    SVC_PORT: [4900, 'environment'],
    SVC_PUBLIC_URL: ['http://127.0.0.1:4900', 'default'],
    SVC_SECRET: [null, 'default'],
    SVC_TRUST_PROXY: [['10.0.0.0/8', '::1'], 'environment'],
    SVC_RATE_LIMIT: [60, 'default'],
    SVC_LOG_LEVEL: ['info', 'default'],
    SVC_CONSENT_ADDRESSES: ['off', 'default'],
  })
})

test.each([
  ['::1', 'http://[::1]:4900', 'http://[::1]:4900'],
  ['::', 'http://[::]:4900', 'http://[::1]:4900'],
  ['0.0.0.0', 'http://0.0.0.0:4900', 'http://127.0.0.1:4900'],
  ['svc.example', 'http://svc.example:4900', 'http://svc.example:4900'],
])('the URLs that follow from SVC_HOST %s are valid', async (host, links, daemon) => {
  const env = { SVC_HOST: host, SVC_PORT: '4900' }
  expect(await settings({ ...env, SVC_DATA_DIR: join(folder, 'none') })).toMatchObject({
    SVC_PUBLIC_URL: [links, 'default'],
  })
  expect(readAddress(env)).toBe(daemon)
  for (const url of [links, daemon]) expect(new URL(url).origin).toBe(url)
})

test('secrets are shown as set, whatever their source', async () => {
  const file = join(folder, 'smtp')
  await writeFile(file, 'smtp://user:hunter22@relay.example.com:587\n')
  const env = {
    DATABASE_URL: 'postgres://svc:hunter22@db.example.com/svc',
    SVC_SECRET: 'hunter22 hunter22 hunter22',
    SVC_SMTP_URL_FILE: file,
  }
  const shown = await settings(env)
  expect(shown).toMatchObject({
    DATABASE_URL: ['set', 'environment'],
    SVC_SECRET: ['set', 'environment'],
    SVC_SMTP_URL: ['set', 'file'],
  })
  for (const args of [['config'], ['config', '--jsonl'], ['config', '--json']])
    expect((await svc({ env }, args)).stdout).not.toContain('hunter22')
})

test('a value in the data folder counts as a file; a missing folder is not created', async () => {
  const dataDir = join(folder, 'empty')
  expect((await svc({ env: { SVC_DATA_DIR: dataDir } }, ['config'])).status).toBe(0)
  expect(existsSync(dataDir)).toBe(false)
  await writeFile(join(folder, 'secret'), 'a secret that was kept before')
  expect(await settings({ SVC_DATA_DIR: folder })).toMatchObject({ SVC_SECRET: ['set', 'file'] })
})

test('all invalid settings are reported at once: exit 4', async () => {
  const ran = await svc({ env: { SVC_PORT: 'x', SVC_LOG_LEVEL: 'loud' } }, ['config', '--json'])
  expect(ran).toMatchObject({ status: 4, stdout: '' })
  expect(ran.stderr).toMatch(/SVC_PORT.*SVC_LOG_LEVEL/)
})

test('a secret and its file are refused if they differ, and taken if they do not', async () => {
  const file = join(folder, 'another')
  await writeFile(file, 'the secret of the file\n')
  const both = (secret: string) => ({ SVC_DATA_DIR: folder, SVC_SECRET: secret, SVC_SECRET_FILE: file })
  const ran = await svc({ env: { ...both('the secret of the variable'), SVC_PORT: 'x' } }, ['config'])
  expect([ran.status, ran.stderr]).toEqual([
    4,
    expect.stringMatching(/SVC_SECRET and SVC_SECRET_FILE have different values.*SVC_PORT/),
  ])
  expect(await settings(both('the secret of the file'))).toMatchObject({ SVC_SECRET: ['set', 'environment'] })
  const env = { SVC_API_KEY: 'one', SVC_API_KEY_FILE: file }
  const called = await svc({ env: {} }, ['api', 'GET', '/lists'], { env })
  expect([called.status, called.stderr]).toEqual([4, expect.stringContaining('SVC_API_KEY_FILE have different')])
})

test.each([
  ...['x', '-1', '65536', '99999999999'].map((value) => ['SVC_PORT', value, '0 to 65535']),
  ...['-1', '1.5', '1000000000', '1e3'].map((value) => ['SVC_RATE_LIMIT', value, '0 to 999999999']),
  ...['0', '10001', '99999999999'].map((value) => ['SVC_IMPORT_RETENTION_DAYS', value, '1 to 10000']),
])('the refusal of %s=%s names its bounds', async (name, value, bounds) => {
  const ran = await svc({ env: { [name!]: value! } }, ['config', '--json'])
  expect([ran.status, ran.stderr]).toEqual([
    4,
    expect.stringContaining(`${name} must be a whole number from ${bounds}`),
  ])
})

test.each(['https://svc.example/?a=b', 'https://svc.example/#a', 'https://me:secret@svc.example'])(
  'a SVC_PUBLIC_URL that no link can begin with is refused: %s',
  async (publicUrl) => {
    const ran = await svc({ env: { SVC_PUBLIC_URL: publicUrl } }, ['config', '--json'])
    expect(ran).toMatchObject({ status: 4, stdout: '' })
    expect(ran.stderr).toMatch(/SVC_PUBLIC_URL must have no credentials, query or fragment/)
  },
)

test.each(['smtp://50%off@relay.example', 'smtps://me:50%-secret@relay.example'])(
  'a SVC_SMTP_URL whose user or password can’t be decoded is refused: %s',
  async (smtpUrl) => {
    const ran = await svc({ env: { SVC_SMTP_URL: smtpUrl } }, ['config', '--json'])
    expect(ran).toMatchObject({ status: 4, stdout: '' })
    expect(ran.stderr).toMatch(/SVC_SMTP_URL has a % that is not followed by two hex digits/)
    expect(ran.stderr).not.toContain('50%')
  },
)

test('SVC_PUBLIC_URL is normalised to ASCII, and an invalid URL is reported', async () => {
  expect(await settings({ SVC_PUBLIC_URL: 'https://Bücher.example/päge//' })).toMatchObject({
    SVC_PUBLIC_URL: ['https://xn--bcher-kva.example/p%C3%A4ge', 'environment'],
  })
  for (const text of ['nonsense', 'ftp://svc.example']) {
    const ran = await svc({ env: { SVC_PUBLIC_URL: text } }, ['config', '--json'])
    expect([ran.status, ran.stderr]).toEqual([4, expect.stringContaining('SVC_PUBLIC_URL must be a URL like')])
  }
})
