import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createKey } from '../../src/accounts/accounts.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { createTopic } from '../../src/suppressions/topics.change.ts'
import { ok, useApp } from '../support/app.ts'
import { spawnInTest } from '../support/children.ts'
import { freePort } from '../support/daemon.ts'
import { eventually } from '../support/eventually.ts'
import { atEnd } from '../support/scope.ts'

/* Compiles and runs the program of docs/recipes/settings-page.md as it is printed there. */

const root = join(import.meta.dirname, '../..')
const guide = await readFile(join(root, 'docs/recipes/settings-page.md'), 'utf8')
const [, program] = /```ts\n([\s\S]+?)```/.exec(guide)!

const t = useApp()

/** Writes the program beside the client, compiles it, and returns the file. */
const programFile = async (): Promise<string> => {
  await mkdir(join(root, '.vitest'), { recursive: true })
  const folder = await mkdtemp(join(root, '.vitest/settings-'))
  atEnd(() => rm(folder, { recursive: true }))
  const file = join(folder, 'settings.ts')
  await writeFile(file, program!.replace('svcd-engagement-client', '../../src/client/client.ts'))
  const config = { extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const compiled = await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch((thrown) => thrown)
  expect(compiled.stdout).toBe('')
  return file
}

test('the program has 40 lines at most, and shows and changes the topics of the person who is signed in', async () => {
  expect(program!.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
  const account = await t.account()
  const { key, news, offers } = await t.app.work(account.id, 'cli:test', async (work) => ({
    key: (await createKey(work, { name: 'settings', scopes: ['suppressions'] })).key,
    news: (await createTopic(work, { name: 'News <&>', description: 'Every "month"' })).id,
    offers: (await createTopic(work, { name: 'Offers', description: '' })).id,
  }))
  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  const { port } = t.server.fastify.server.address() as AddressInfo
  const file = await programFile()
  const own = String(await freePort())
  const env = { ...process.env, SVC_URL: `http://127.0.0.1:${port}`, SVC_API_KEY: key, PORT: own }
  const child = spawnInTest(process.execPath, [file], { env })
  child.stderr.pipe(process.stderr)
  const url = `http://127.0.0.1:${own}/settings`
  await eventually(() => fetch(url).catch(() => null))
  expect((await fetch(url)).status).toBe(401)

  const who = 'ada@example.org'
  const get = async (email = who) => (await fetch(url, { headers: { 'x-forwarded-email': email } })).text()
  const post = (body: string, email = who, site = 'same-origin') =>
    fetch(url, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: {
        'x-forwarded-email': email,
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': site,
      },
    })
  const preferences = async (email = who) => (await ok(t.request('GET', `/preferences/${email}`, { key }))).body
  const boxesOf = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/checkbox" name="([^"]*)"( checked)?>/g)].map(([, name, isOn]) => [name, isOn !== undefined]),
    )
  /** Submits the form of the page as a browser does, with these boxes checked. */
  const save = async (checked: readonly string[], email = who) => {
    const hidden = [...(await get(email)).matchAll(/type="hidden" name="(\w+)"(?: value="([^"]*)")?/g)]
    const fields = [...hidden.map(([, name, value = '']) => [name!, value]), ...checked.map((name) => [name, 'on'])]
    const answer = await post(String(new URLSearchParams(fields as [string, string][])), email)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings'])
  }

  const first = await get()
  expect(first).toContain('Emails to ada@example.org')
  expect(first).toContain('News &#60;&#38;&#62;: Every &#34;month&#34;')
  expect(boxesOf(first)).toEqual({ everything: true, [news]: true, [offers]: true })

  await save(['everything', offers])
  expect(await preferences()).toEqual({ topics: { [news]: false, [offers]: true }, everything: true })
  expect(boxesOf(await get())).toEqual({ everything: true, [news]: false, [offers]: true })
  await save([news])
  expect(await preferences()).toEqual({ topics: { [news]: true, [offers]: false }, everything: false })
  await save(['everything', news])
  expect(await preferences()).toEqual({ topics: { [news]: true, [offers]: false }, everything: true })

  // A topic that the page did not show keeps its value. Other sites can't post.
  const fields = `everything=on&shown=${news}&${news}=on`
  expect((await post(fields)).status).toBe(303)
  expect(await preferences()).toEqual({ topics: { [news]: true, [offers]: false }, everything: true })
  expect((await post(`shown=${news}`, who, 'cross-site')).status).toBe(403)
  expect(await preferences()).toEqual({ topics: { [news]: true, [offers]: false }, everything: true })

  // Somebody whose address bounced saves topics, and has not unsubscribed.
  const bounced = 'bob@example.org'
  await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, [bounced], 'bounced'))
  await save([offers], bounced)
  expect(await preferences(bounced)).toEqual({ topics: { [news]: false, [offers]: true }, everything: false })
  const { suppressions } = (await ok(t.request('GET', `/suppressions?email=${bounced}`, { key }))).body
  expect(
    suppressions.map(({ reason, topicId }: { reason: string; topicId: string | null }) => [reason, topicId]),
  ).toEqual([
    ['bounced', null],
    ['unsubscribed', news],
  ])
})
