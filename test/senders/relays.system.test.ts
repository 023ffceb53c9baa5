import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setRelay } from '../../src/senders/relays.ts'
import { useApp } from '../support/app.ts'
import { certificate } from '../support/certificate.ts'
import { svcProcess } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'

const dns = useDnsServer()
const own = useSink({ tls: 'smtps', user: { name: 'me', password: 'x' } })
const t = useApp(() => ({ env: { SVC_DNS_SERVERS: dns.address } }))

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-ca-'))
  dns.set('tls.test', { A: ['127.0.0.1'] })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('SVC_CA_FILE adds certificate authorities: a relay with a certificate of one of them is trusted', async () => {
  const account = await sendingAccount(t)
  const relay = { url: own.url.replace('//127.0.0.1', '//me@tls.test'), password: 'x', bounceAddress: null }
  await t.app.work(account.id, 'cli:test', (work) => setRelay(t.app, work, relay))
  const file = join(folder, 'ca.pem')
  await writeFile(file, `# Ours\n${certificate}`)
  const ask = (env: Record<string, string>) =>
    svcProcess(t, ['relay', 'test', '--account', account.id, '--json'], { env })
  const unknown = await ask({})
  expect(unknown.status).toBe(1)
  expect(unknown.json).toEqual({ ok: false, tls: null, error: expect.stringMatching(/certificate/i) })
  const known = await ask({ SVC_CA_FILE: file })
  expect(known.json).toEqual({ ok: true, tls: expect.stringMatching(/^TLSv1\.3 /) })
  const cutOff = certificate + certificate.slice(0, 300)
  for (const text of ['', 'no certificate', certificate.replace('MIIB', 'MIIC'), cutOff]) {
    await writeFile(file, text)
    const refused = await ask({ SVC_CA_FILE: file })
    expect(refused).toMatchObject({ status: 4, stdout: '' })
    expect(refused.stderr).toMatch(/SVC_CA_FILE must name a file of certificates/)
  }
  expect((await ask({ SVC_CA_FILE: join(folder, 'none') })).status).toBe(4)
})
