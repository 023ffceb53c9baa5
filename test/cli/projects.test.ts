import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sampleProject } from '../../src/studio/studio.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { eventually } from '../support/deliveries.ts'

let account: TestAccount
let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-projects-'))
})
beforeEach(async () => {
  account = await t.account()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (args: string[], stdin?: string, env?: Record<string, string>) =>
  svc(t, ['projects', ...args, '--account', account.id], { ...(stdin !== undefined && { stdin }), ...(env && { env }) })
const json = async (...args: string[]) => {
  const ran = await run([...args, '--json'])
  expect(ran.stderr).toBe('')
  expect(ran.status).toBe(0)
  return ran.json
}
const apply = (document: unknown, ...flags: string[]) =>
  run(['apply', '-f', '-', ...flags], typeof document === 'string' ? document : JSON.stringify(document))
const hello = {
  name: 'Hello',
  preheader: 'For {{ name }}',
  blocks: [{ id: 'a', type: 'text', props: { text: 'Hello {{ name }}, {{ city }}!' } }],
}
const versions = async () =>
  (
    await t.app.sql<{ version: number }>('select version from project_versions where account_id = $1 order by 1', [
      account.id,
    ])
  ).map(({ version }) => version)

test('apply creates a project from a file, updates it by name, and creates no version if nothing changed', async () => {
  const file = join(folder, 'hello.json')
  await writeFile(file, JSON.stringify(hello))
  const made = await json('apply', '-f', file)
  expect(made).toEqual({
    id: expect.stringMatching(/^prj_/),
    name: 'Hello',
    version: 1,
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
    outcome: 'created',
  })
  expect(await json('apply', '-f', file)).toEqual({ ...made, outcome: 'unchanged' })
  await writeFile(file, JSON.stringify({ ...hello, preheader: 'For you' }))
  expect(await json('apply', '-f', file)).toMatchObject({ id: made.id, version: 2, outcome: 'updated' })
  expect(await versions()).toEqual([1, 2])
})

test('apply by id renames it, which is a new version; the name can be taken, the id unknown or another account’s', async () => {
  const { id } = (await apply(hello, '--json')).json
  expect((await apply({ ...hello, id, name: 'Goodbye' }, '--json')).json).toMatchObject({
    id,
    name: 'Goodbye',
    version: 2,
  })
  await apply(hello)
  expect(await apply({ ...hello, id })).toMatchObject({ status: 6, stdout: '' })
  expect((await apply({ ...hello, id: 'prj_none' })).status).toBe(3)
  account = await t.account()
  expect((await apply({ ...hello, id })).status).toBe(3)
  for (const args of [
    ['show', id],
    ['render', id],
    ['delete', id, '--yes'],
  ])
    expect((await run(args)).status).toBe(3)
})

test('--dry-run says what would change, and changes nothing', async () => {
  const ran = await apply(hello, '--dry-run', '--json')
  expect(ran.json).toMatchObject({ id: null, outcome: 'created', dryRun: true })
  expect(ran.stderr).toBe('Nothing was changed.\n')
  await apply(hello)
  expect((await apply({ ...hello, theme: { width: 500 } }, '--dry-run', '--json')).json).toMatchObject({ version: 2 })
  expect(await versions()).toEqual([1])
})

test('all errors are reported at once on stderr, each with its path, and the exit status is 2', async () => {
  const blocks = [
    { id: 'a', type: 'text', props: { text: 'x', size: 1 } },
    { id: 'a', type: 'blink', props: {} },
  ]
  const ran = await apply({ name: 'Faulty', blocks })
  expect(ran).toMatchObject({ status: 2, stdout: '' })
  expect(ran.stderr).toContain('blocks[0].props has an unknown property size')
  expect(ran.stderr).toContain('blocks[1].type must be one of section')
  expect(ran.stderr).toContain('blocks[1].id is the id of blocks[0] too')
  expect(JSON.parse((await apply('{"name": ', '--json')).stderr).error).toMatch(/^The file can't be read/)
  expect((await run(['apply', '-f', join(folder, 'nope.json')])).status).toBe(3)
  expect((await run(['apply', '-f', folder])).status).toBe(2)
  expect(await run(['apply'])).toMatchObject({ status: 2, stderr: expect.stringContaining('--file') })
})

test('apply accepts the output of show as unchanged', async () => {
  const made = (await apply(sampleProject('https://example.com/a.png'), '--json')).json
  const shown = await run(['show', 'Welcome'])
  expect((await apply(shown.stdout, '--json')).json).toEqual({ ...made, outcome: 'unchanged' })
  const { outcome, ...view } = made
  expect(await json('show', made.id)).toMatchObject({ ...view, theme: { width: 600 } })
  expect((await run(['show', 'Nobody'])).status).toBe(3)
})

test('stored text that show prints can not move the cursor', async () => {
  const text = '\u001b[31mred\u009b2J'
  await apply({ ...hello, blocks: [{ id: 'a', type: 'text', props: { text } }] })
  for (const args of [
    ['show', 'Hello'],
    ['render', 'Hello'],
    ['render', 'Hello', '--text'],
  ]) {
    const { stdout } = await run(args)
    expect(stdout).toContain('red')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain control characters
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  }
  expect(JSON.parse((await run(['show', 'Hello'])).stdout).blocks[0].props.text).toBe(text)
})

test('the bare noun lists, most recently changed first', async () => {
  await apply([hello, { ...hello, name: 'Second' }].map((one) => JSON.stringify(one)).join('\n---\n'))
  await apply({ ...hello, preheader: 'New' })
  const { projects } = await json()
  expect(projects.map(({ name, version }: { name: string; version: number }) => [name, version])).toEqual([
    ['Hello', 2],
    ['Second', 1],
  ])
  expect((await run(['list', '-q'])).stdout).toMatch(/^(prj_\w+\n){2}$/)
  expect((await run(['list'])).stdout).toMatch(/^prj_\w+\tHello\t2\t\S+Z\n/)
})

test('render prints HTML or text, filled with merge data; later values win', async () => {
  await apply(hello)
  const file = join(folder, 'data.json')
  await writeFile(file, JSON.stringify({ name: 'Ada', city: 'Rome' }))
  const html = await run(['render', 'Hello', '--data', `@${file}`, '--data', 'name=<Bob>'])
  expect(html).toMatchObject({ status: 0, stderr: '' })
  expect(html.stdout).toMatch(/^<!doctype html>[\s\S]*Hello &lt;Bob&gt;, Rome![\s\S]*<\/html>\n$/)
  const text = await run(['render', 'Hello', '--text', '--data', 'name=Eve=', '--data', 'city='])
  expect(text.stdout).toMatch(/^Hello Eve=, !\n\n-- \n/)
  const { id } = (await json()).projects[0]
  expect(await json('render', id, '--data', 'name=Ada')).toEqual({
    id,
    version: 1,
    subject: 'Hello',
    preheader: 'For Ada',
    html: expect.stringContaining('Hello Ada, !'),
    text: expect.stringContaining('Hello Ada, !'),
  })
})

test('invalid merge data is exit 2, a missing file exit 3', async () => {
  await apply(hello)
  const file = join(folder, 'list.json')
  await writeFile(file, '[1]')
  expect(await run(['render', 'Hello', '--data', 'name'])).toMatchObject({ status: 2, stdout: '' })
  expect(await run(['render', 'Hello', '--data', `@${file}`])).toMatchObject({ status: 2, stdout: '' })
  expect((await run(['render', 'Hello', '--data', '@nope.json'])).status).toBe(3)
  await writeFile(file, '{ "name": "Ada", "home": { "city": "Rome" } }')
  const nested = ['render', 'Hello', '--data', `@${file}`]
  expect(await run(nested)).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(
      '--data takes text, numbers, true, false and null, but the value of home is an object',
    ),
  })
  expect((await run([...nested, '--data', 'home=Rome'])).status).toBe(0)
})

test('--out writes a file, --open opens it in the browser', async () => {
  await apply(hello)
  const file = join(folder, 'mail.html')
  expect(await json('render', 'Hello', '--out', file)).toMatchObject({ subject: 'Hello', version: 1, file })
  expect(await readFile(file, 'utf8')).toContain('<!doctype html>')
  expect((await run(['render', 'Hello', '--out', join(folder, 'no', 'mail.html')])).status).toBe(3)
  expect((await run(['render', 'Hello', '--out', folder])).status).toBe(2)

  const browser = join(folder, 'browser')
  const opened = join(folder, 'opened')
  await writeFile(browser, `#!/bin/sh\nprintf %s "$1" > ${opened}.part\nmv ${opened}.part ${opened}\n`)
  await chmod(browser, 0o755)
  const ran = await run(['render', 'Hello', '--open', '--json'], '', { BROWSER: browser })
  expect(ran.status).toBe(0)
  expect(await eventually(() => readFile(opened, 'utf8').catch(() => null))).toBe(ran.json.file)
  expect(await readFile(ran.json.file, 'utf8')).toContain('Hello , !')
  await rm(join(ran.json.file, '..'), { recursive: true })
  const none = await run(['render', 'Hello', '--out', file, '--open'], '', { BROWSER: join(folder, 'nothing') })
  expect(none).toMatchObject({ status: 4, stdout: '' })
})

test('delete asks, and deletes the project but not the sent messages; its name can be used again', async () => {
  const { id } = (await apply(hello, '--json')).json
  expect(await run(['delete', 'Hello'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--yes'),
  })
  expect((await run(['delete', 'Hello', '--dry-run', '--json'])).json).toEqual({
    ...{ id, name: 'Hello', dryRun: true },
    ...{ bindings: 0, broadcasts: 0, webhook: false },
  })
  expect((await json()).projects).toHaveLength(1)
  expect(await json('delete', 'Hello', '--yes')).toEqual({ id, name: 'Hello' })
  expect((await json()).projects).toEqual([])
  for (const args of [
    ['show', id],
    ['render', id],
    ['delete', id, '--yes'],
  ])
    expect((await run(args)).status).toBe(3)
  expect(await versions()).toEqual([1])
  expect((await apply(hello, '--json')).json).toMatchObject({ outcome: 'created', version: 1 })
})
