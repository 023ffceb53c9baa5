import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newSigningSecret, signedHeaders } from '../../src/lib/signature.ts'
import { spawnInTest } from '../support/children.ts'
import { svc } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'

const root = join(import.meta.dirname, '../..')

test('the documented receiver refuses unsigned requests, handles an event once and answers repeats', async () => {
  const [, code] = /```js\n(import \{ createServer[\s\S]+?)```/.exec(
    await readFile(join(root, 'docs/webhooks.md'), 'utf8'),
  )!
  const folder = await mkdtemp(join(tmpdir(), 'svc-receiving-'))
  const [file, port, secret] = [join(folder, 'receiver.mjs'), await freePort(), newSigningSecret()]
  const source = code!
    .replace('svcd-engagement-client/webhooks', join(root, 'src/lib/webhooks.ts'))
    .replace('3000', String(port))
  await writeFile(file, source)
  const child = spawnInTest(process.execPath, [file], { env: { WEBHOOK_SECRET: secret } })
  let stdout = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  const body = '{"id":"evt_1","type":"deal.created","createdAt":1,"data":{"n":7}}'
  const post = async (headers: Record<string, string>) => {
    const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })
    return [answer.status, await answer.text()]
  }
  await expect.poll(() => post({}).catch(() => null)).toEqual([401, 'headers missing'])
  const headers = signedHeaders(secret, Date.now(), 'evt_1', body)
  expect([await post(headers), await post(headers)]).toEqual([
    [204, ''],
    [204, ''],
  ])
  await expect.poll(() => stdout).toBe('deal.created { n: 7 }\n')
  const secretFile = join(folder, 'hook-secret')
  await writeFile(secretFile, `${secret}\n`)
  const to = `http://localhost:${port}/hook`
  const sent = await svc({ env: {} }, ['events', 'send', 'deal.created', '--to', to, '--secret-file', secretFile])
  expect(sent).toMatchObject({ status: 0, stdout: expect.stringMatching(/^→ 204 in \d+ ms\n$/) })
  child.kill()
  await rm(folder, { recursive: true })
})
