import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { startSvc, svc, svcProcess } from '../../support/cli.ts'
import { eventually } from '../../support/eventually.ts'
import { counted, interruptImport, people } from './support.ts'

const many = 4_000

let account: TestAccount
let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-'))
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  account = await t.account()
})

const file = async (content: string): Promise<string> => {
  const path = join(folder, `${account.id}.csv`)
  await writeFile(path, content)
  return path
}
const resume = (id: string) => svc(t, ['imports', 'resume', id, '--account', account.id, '--json'])
const contacts = () => t.app.sql<{ status: string }>('select status from contacts where account_id = $1', [account.id])

test('after a kill (-9) a resume continues after the last complete batch: each row and event once', async () => {
  const body = { url: 'https://hooks.example.org/', events: ['contact.created', 'contact.updated'] }
  await ok(t.request('POST', '/webhooks', { key: account.key, body }))
  const rejects = join(folder, 'rejects.csv')
  const path = await file(`${people(many)},nobody,\n`)
  const { id, rows, state } = await interruptImport(t, account, path, 'SIGKILL', '--rejects', rejects)
  expect(state).toBe('running')
  expect(rows % 500).toBe(0)
  expect(rows).toBeLessThan(many)
  expect(await contacts()).toHaveLength(rows)
  expect(await resume(id)).toMatchObject({ status: 5, json: { id, ...counted(many, 0, 0, 0, 1) } })
  expect(await contacts()).toHaveLength(many)
  const emails = (await t.events<'contact.created' | 'contact.updated'>(account.id)).map(
    ({ data }) => data.contact.email,
  )
  expect(emails).toHaveLength(many)
  expect(new Set(emails).size).toBe(many)
  expect(await readFile(rejects, 'utf8')).toBe(`line,email,reason\r\n${many + 2},,no address\r\n`)
  expect(await resume(id)).toMatchObject({ status: 0, json: { id, ...counted(many, 0, 0, 0, 1) } })
})

test('SIGINT finishes the batch, prints a hint, and exits with 130', async () => {
  const { status, log, id, rows, state } = await interruptImport(t, account, await file(people(many)), 'SIGINT')
  expect([status, state]).toEqual([130, 'stopped'])
  expect(log).toContain(`svc imports resume ${id}`)
  expect(await contacts()).toHaveLength(rows)
  expect(await resume(id)).toMatchObject({ status: 0, json: counted(many, 0, 0, 0, 0) })
})

test('after a kill (-9) of an import from another product a resume ends with the same contacts and suppressions', async () => {
  let content = 'email,subscribed,name\n'
  for (let i = 0; i < 3_000; i++) content += `p${i}@example.org,${i % 3 > 0},"Person ${i}"\n`
  const { id } = await interruptImport(t, account, await file(content), 'SIGKILL', '--from', 'plunk', '--yes')
  expect((await resume(id)).json).toMatchObject({ created: 2_000, suppressed: 1_000 })
  expect(await t.app.sql('select from suppressions where account_id = $1', [account.id])).toHaveLength(1_000)
  expect(new Set((await contacts()).map(({ status }) => status))).toEqual(new Set(['active']))
})

test('an import is running while a process runs it, and stopped once that was killed (-9)', async () => {
  const child = startSvc(t, ['contacts', 'import', '-', '--list', 'L', '--create-list', '--account', account.id])
  child.stdin.write(people(1_000))
  const list = async () => (await svc(t, ['imports', 'list', '--json', '--account', account.id])).json.imports
  // The second batch waits for the rest of standard input.
  await eventually(async () => (await list())[0]?.rows >= 500)
  const [{ id }] = await list()
  const show = async () => (await svc(t, ['imports', 'show', id, '--json', '--account', account.id])).json
  expect([await list(), await show()]).toMatchObject([[{ status: 'running' }], { status: 'running' }])
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
  await eventually(async () => (await show()).status === 'stopped')
  expect(await list()).toMatchObject([{ id, status: 'stopped', finishedAt: null }])
  const shown = await svc(t, ['imports', 'show', id, '--account', account.id], { tty: {} })
  expect(shown.text).toContain(`next: svc imports resume ${id} <file|->`)
  const resumed = await svc(t, ['imports', 'resume', id, '-', '--json', '--account', account.id], {
    stdin: people(1_000),
  })
  expect(resumed).toMatchObject({ status: 0, json: counted(1_000, 0, 0, 0, 0) })
  expect((await show()).status).toBe('done')
})

test('an import that creates its list does without MikroORM, which would take 23 MB until its end', async () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => {
      if (/^(pg|@mikro-orm)\\b/.test(name)) process.stderr.write('loads ' + name + '\\n')
      return next(name, context)
    } })`
  const command = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  const args = ['contacts', 'import', await file(people(2)), '--list', 'New', '--create-list', '--account', account.id]
  const { status, stderr } = await svcProcess(t, args, { command })
  expect([status, await contacts()]).toEqual([0, [{ status: 'active' }, { status: 'active' }]])
  expect(stderr).toContain('loads pg')
  expect(stderr).not.toContain('@mikro-orm')
})
