import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { ok, useApp } from '../support/app.ts'

const root = join(import.meta.dirname, '../..')
const client = join(root, 'test/client')
const require = createRequire(join(client, 'package.json'))

let folder: string

const t = useApp()
beforeAll(async () => {
  // Inside the project, whose packages it imports, but not under node_modules, where Node runs no TypeScript.
  await mkdir(join(root, '.vitest'), { recursive: true })
  folder = await mkdtemp(join(root, '.vitest/client-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a typed client generated from the document compiles and runs the calls of the README', async () => {
  const { default: generate, astToString } = require('openapi-typescript')
  const { body: document } = await ok(t.request('GET', '/openapi.json'))
  await writeFile(join(folder, 'api.ts'), astToString(await generate(document, { silent: true })))
  await copyFile(join(client, 'calls.ts'), join(folder, 'calls.ts'))
  const config = { extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const compiled = await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch((error) => error)
  expect(compiled.stdout).toBe('')

  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  const { port } = t.server.fastify.server.address() as AddressInfo
  const { id, key } = await t.account()
  const list = await t.app.work(id, 'cli:test', (work) => createList(work, { name: 'Customers' }))
  const { makeCalls } = await import(pathToFileURL(join(folder, 'calls.ts')).href)
  expect(await makeCalls(`http://127.0.0.1:${port}`, key, list.id)).toEqual({
    names: ['Customers'],
    created: 1,
    contact: { first_name: 'Ada' },
    found: 1,
    deals: [true, false, 'true'],
    value: 9,
    sampled: 'USD',
    refused: expect.stringMatching(/send|relay|method/i),
    incomplete: [400, 'listId is required'],
  })
})
