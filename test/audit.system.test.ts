import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { spawnInTest } from './support/children.ts'

const root = join(import.meta.dirname, '..')

let folder: string
/** The answer of the server that replaces OSV; null: 503. */
let advisory: ((name: string) => string | null) | null = null
const server = createServer(async (request, response) => {
  let text = ''
  for await (const part of request) text += part
  const { queries } = JSON.parse(text)
  const results = queries.map(({ package: { name } }: { package: { name: string } }) => {
    const id = advisory?.(name)
    return id ? { vulns: [{ id }] } : {}
  })
  response.writeHead(advisory ? 200 : 503).end(JSON.stringify({ results }))
})

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-audit-'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(async () => {
  server.close()
  await rm(folder, { recursive: true })
})

/** Runs the script with an `npm` that prints this report. */
const audit = async (report: object) => {
  await writeFile(join(folder, 'npm'), `#!/bin/sh\ncat <<'EOF'\n${JSON.stringify(report)}\nEOF\nexit 1\n`, {
    mode: 0o755,
  })
  const child = spawnInTest(process.execPath, ['.ci/audit.mjs'], {
    cwd: root,
    env: {
      PATH: `${folder}:${process.env.PATH}`,
      OSV_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
  })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  child.stderr.resume()
  const [status] = await once(child, 'close')
  return { status, said }
}

const unreachable = { message: 'request failed' }

test('npm is asked first: exit 0 without advisories, exit 1 with their names', async () => {
  expect(await audit({ vulnerabilities: {} })).toEqual({ status: 0, said: '0 known advisories, by npm\n' })
  const one = { name: 'left-pad', severity: 'high', via: [{ url: 'https://advisories.example/1' }] }
  const { status, said } = await audit({ vulnerabilities: { 'left-pad': one } })
  expect([status, said]).toEqual([1, expect.stringContaining('left-pad (high): https://advisories.example/1')])
})

test('if npm is unavailable, OSV is asked about every package of the lockfile', async () => {
  advisory = (name) => (name === 'fastify' ? 'GHSA-1' : null)
  const { status, said } = await audit(unreachable)
  expect(status).toBe(1)
  expect(said).toMatch(
    /^npm is unavailable: request failed\nfastify \d+\.\d+\.\d+: GHSA-1\n1 known advisories, by OSV\n$/,
  )
})

test('if both are unavailable, this is reported with a separate exit status', async () => {
  advisory = null
  const { status, said } = await audit(unreachable)
  expect(status).toBe(3)
  expect(said).toMatch(/Nothing was compared/)
})
