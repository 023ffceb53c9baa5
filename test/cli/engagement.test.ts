import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'

let engaged: EngagedApp
let t: TestApp
let account: EngagedAccount
let mail: Arrived

beforeAll(async () => {
  engaged = await startEngaged({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '203.0.113.0/24' } })
  ;({ t } = engaged)
  account = await engagedAccount(t)
  mail = await sendProject(t, engaged.sink, account)
  await ok(answer(t, mail, 'colour', 'Blue'))
  await ok(answer(t, mail, 'stars', 4))
})
afterAll(() => engaged.close())

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])

test('svc liveview url prints the link of the email, and show prints the answer of GET /liveview', async () => {
  const { json } = await run('liveview', 'url', mail.id, '--json')
  expect(json).toEqual({ id: mail.id, url: `https://svc.example${mail.view}`, token: mail.token })
  const shown = await run('liveview', 'show', mail.token, '--json')
  expect(shown.json).toEqual((await t.request('GET', `/liveview/${mail.token}`)).body)
  expect((await run('liveview', 'show', `${mail.token}x`)).status).toBe(3)
  expect((await run('liveview', 'url', 'msg_none')).status).toBe(3)
})

test('svc projects responses prints the counts and the single responses, page by page', async () => {
  const { json } = await run('projects', 'responses', 'Welcome', '--json', '--limit', '1')
  expect(json.counts).toEqual({ vote: 1, rating: 1 })
  expect(json.blocks[0]).toEqual({
    blockId: 'colour',
    kind: 'vote',
    question: 'Which colour should the sail have?',
    total: 1,
    answers: [
      { value: 'Red', count: 0 },
      { value: 'Blue', count: 1 },
      { value: 'White', count: 0 },
    ],
  })
  expect(json.responses).toMatchObject([
    { kind: 'rating', blockId: 'stars', value: 4, email: 'ada@people.example', source: { kind: 'send', id: mail.id } },
  ])
  const next = await run('projects', 'responses', 'Welcome', '--json', '--cursor', json.nextCursor)
  expect(next.json.responses).toMatchObject([{ kind: 'vote', value: 'Blue' }])
  expect((await run('projects', 'responses', 'Nothing')).status).toBe(3)
  expect((await run('projects', 'responses', 'Welcome', '--limit', '1')).stdout).toContain('\trating\tstars\t4\tada@')
})

describe('on a terminal', () => {
  const onTerminal = async (...args: string[]) =>
    (await svc(t, [...args, '--account', account.id, '--no-color'], { tty: {} })).text

  test('svc projects responses shows answers with their questions', async () => {
    const text = await onTerminal('projects', 'responses', 'Welcome')
    expect(text).toMatch(/ vote +colour +Which colour should the sail have\? Blue +ada@people.example +send +msg_/)
  })

  test('svc sends list and show have what GET /sends has, with the same values', async () => {
    await t.app.sql(`update accounts set plan = 'unlimited' where id = $1`, [account.id])
    await run('suppressions', 'add', 'gone@people.example', '--reason', 'bounced')
    await run('send', '--to', 'gone@people.example', '--subject', 'Hello', '--text', 'Hello')
    const { sends } = (await ok(t.request('GET', '/sends', { key: account.key }))).body
    expect(sends).toMatchObject([{ error: 'bounced' }, { id: mail.id, opened: true }])
    expect((await run('sends', 'list', '--json')).json.sends).toMatchObject(sends)
    for (const send of sends) expect((await run('sends', 'show', send.id, '--json')).json).toMatchObject(send)
  })

  test('svc sends show prints headers and the text part, and with --source the record', async () => {
    const text = await onTerminal('sends', 'show', mail.id)
    expect(text).toMatch(/^subject +Welcome/m)
    expect(text).toContain('\n\nWelcome aboard')
    expect(text).not.toContain('<html')
    expect(await onTerminal('sends', 'show', mail.id, '--source')).toMatch(/^project version +1/m)
  })
})

test('svc sends show prints the HTML part, or opens it and prints its path', async () => {
  expect((await run('sends', 'show', mail.id, '--html')).stdout).toMatch(/^<!doctype html>/)
  expect((await run('sends', 'show', mail.id, '--json')).json).toMatchObject({ id: mail.id, projectVersion: 1 })
  const both = await run('sends', 'show', mail.id, '--html', '--open')
  expect([both.status, both.stderr]).toEqual([2, expect.stringContaining('Use only one of --html and --open')])
  const args = ['sends', 'show', mail.id, '--open', '--json', '--account', account.id]
  const opened = await svc(t, args, { env: { BROWSER: '/nowhere/browser' } })
  expect([opened.status, opened.stderr]).toEqual([0, expect.stringContaining('There is no /nowhere/browser')])
  expect(await readFile(opened.json.file, 'utf8')).toMatch(/^<!doctype html>/)
})

test('svc score shows and sets the score, and svc contacts score shows the same', async () => {
  expect((await run('score', 'show', 'ADA@people.example', '--json')).json).toMatchObject({
    email: 'ada@people.example',
    score: 10,
    threshold: 50,
    hot: false,
  })
  expect((await run('score', 'set', 'ada@people.example', '--score', '12.5', '--json')).json.score).toBe(12.5)
  expect((await run('contacts', 'score', 'ada@people.example', '--json')).json.score).toBe(12.5)
  expect((await run('score', 'set', 'ada@people.example')).status).toBe(2)
  expect((await run('score', 'set', 'ada@people.example', '--score', 'x')).status).toBe(2)
})

test('svc projects webhook set shows the secret once, test sends a sample, unset needs --yes', async () => {
  const set = await run('projects', 'webhook', 'set', 'Welcome', '--url', 'http://203.0.113.9/hook', '--json')
  expect(set.json).toMatchObject({ projectId: account.projectId, secret: expect.stringMatching(/^whsec_/) })
  expect(set.stderr).toBe('Save the secret now: it is not shown again.\n')
  const refused = await run('projects', 'webhook', 'set', 'Welcome', '--url', 'http://127.0.0.1/hook')
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('public')])
  expect((await run('projects', 'webhook', 'test', 'Welcome', '--json')).json).toMatchObject({
    type: 'interaction.received',
  })
  expect((await run('projects', 'webhook', 'unset', 'Welcome')).status).toBe(2)
  expect((await run('projects', 'webhook', 'unset', 'Welcome', '--yes', '--json')).json).toMatchObject({ ok: true })
  expect((await run('projects', 'webhook', 'test', 'Welcome')).status).toBe(3)
})
