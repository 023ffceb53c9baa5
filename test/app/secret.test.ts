import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { secretFingerprint } from '../../src/lib/secrets.ts'
import { openDatabase } from '../../src/store/database.ts'
import { svc } from '../support/cli.ts'
import { cloneDatabase } from '../support/database.ts'

const right = 'the secret of this installation'
const wrong = 'the secret of another installation'

let database: Awaited<ReturnType<typeof cloneDatabase>>

const envWith = (secret: string) => ({
  env: { DATABASE_URL: database.url, SVC_SECRET: secret, SVC_LOG_LEVEL: 'silent', SVC_PORT: '0' },
})

const fingerprints = async () => {
  const { sql, close } = openDatabase(database.url, { max: 1 })
  const rows = await sql<{ fingerprint: string }>('select secret_fingerprint as fingerprint from installation')
  await close()
  return rows.map(({ fingerprint }) => fingerprint)
}

beforeEach(async () => {
  database = await cloneDatabase()
})
afterEach(() => database.drop())

test('the first process of a new database stores the fingerprint of its secret, not the secret itself', async () => {
  expect(await fingerprints()).toEqual([])
  expect((await svc(envWith(right), ['accounts', 'list'])).status).toBe(0)
  const [kept, ...others] = await fingerprints()
  expect(others).toEqual([])
  expect(kept).toMatch(/^[0-9a-f]{64}$/)
  for (const encoding of ['hex', 'base64', 'utf8'] as const)
    expect(kept).not.toContain(Buffer.from(right).toString(encoding).slice(0, 8))
  expect((await svc(envWith(right), ['accounts', 'list'])).status).toBe(0)
  expect(await fingerprints()).toEqual([kept])
})

test.each([[['serve']], [['serve', '--no-jobs']], [['jobs', 'run']], [['accounts', 'list']], [['webhooks', 'list']]])(
  'with another secret `svc %j` refuses to start and says what to do: exit 4',
  async (args) => {
    expect((await svc(envWith(right), ['accounts', 'create', '--name', 'One'])).status).toBe(0)
    const ran = await svc(envWith(wrong), args)
    expect(ran).toMatchObject({ status: 4, stdout: '' })
    expect(ran.stderr).toMatch(/SVC_SECRET is not the secret/)
    expect(ran.stderr).toMatch(/next: start with the SVC_SECRET/)
    expect(ran.stderr).not.toContain(wrong)
    expect((await svc(envWith(right), ['accounts', 'list'])).status).toBe(0)
  },
)

test('svc db works with any secret and stores no fingerprint', async () => {
  expect((await svc(envWith(wrong), ['db', 'status'])).status).toBe(0)
  expect(await fingerprints()).toEqual([])
  await svc(envWith(right), ['accounts', 'list'])
  expect((await svc(envWith(wrong), ['db', 'status'])).status).toBe(0)
  expect((await svc(envWith(wrong), ['db', 'reset', '--yes'])).status).toBe(0)
  expect(await fingerprints()).toEqual([])
  expect((await svc(envWith(wrong), ['accounts', 'list'])).status).toBe(0)
})

test('if a new database is opened with two secrets at once, one is stored and the other is refused', async () => {
  const secrets = Array.from({ length: 12 }, (_, i) => (i % 2 ? right : wrong))
  const opened = await Promise.all(
    secrets.map(async (secret) => {
      const app = await openApp(readConfig(envWith(secret).env), { connections: 1 }).catch(
        (problem) => problem.kind as string,
      )
      if (typeof app === 'string') return app
      await app.close()
      return secret
    }),
  )
  const [kept] = await fingerprints()
  const winner = kept === secretFingerprint(right) ? right : wrong
  expect(kept).toBe(secretFingerprint(winner))
  expect(opened).toEqual(secrets.map((secret) => (secret === winner ? secret : 'configuration')))
})
