import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { useApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'

const root = join(import.meta.dirname, '../..')

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))

test('the program of docs/client.md compiles, and runs twice with one deal and one email', async () => {
  const guide = await readFile(join(root, 'docs/client.md'), 'utf8')
  const [, program] = /```ts\n(import \{ ApiError[\s\S]+?)```/.exec(guide)!
  const account = await sendingAccount(t)
  await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'Customers' }))
  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  const { port } = t.server.fastify.server.address() as AddressInfo
  await mkdir(join(root, '.vitest'), { recursive: true })
  const folder = await mkdtemp(join(root, '.vitest/program-'))
  try {
    const source = program!
      .replace('svcd-engagement-client', '../../src/client/client.ts')
      .replace('4800', String(port))
    await writeFile(join(folder, 'program.ts'), source)
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }),
    )
    const run = promisify(execFile)
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const compiled = await run(process.execPath, [compiler, '-p', folder]).catch((thrown) => thrown)
    expect(compiled.stdout).toBe('')
    const env = { ...process.env, SVC_API_KEY: account.key }
    const outputs = []
    for (let i = 0; i < 2; i += 1)
      outputs.push((await run(process.execPath, [join(folder, 'program.ts')], { env })).stdout)
    expect(outputs).toEqual(['New true sent\n', 'New false sent\n'])
    expect(sink.mails.map(({ to }) => to)).toEqual([['ada@example.org']])
  } finally {
    await rm(folder, { recursive: true })
  }
})
