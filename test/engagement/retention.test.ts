import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.ts'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { dropTexts, listResponses, summarizeResponses } from '../../src/engagement/interactions/responses.ts'
import { dropContents } from '../../src/messages/messages.retention.ts'
import { showMessage } from '../../src/messages/messages.ts'
import type { Work } from '../../src/store/work.ts'
import type { Part } from '../../src/studio/studio.template.ts'
import { linkFields, loadTemplate, loadVersion, sampleProject } from '../../src/studio/studio.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  person,
  publicUrl,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import { freeform, queueMany, sendingAccount } from '../support/messages.ts'
import type { Sink } from '../support/smtp.ts'

const day = 86_400_000

type ShownBlock = {
  id: string
  type: string
  children?: ShownBlock[]
  props: { fields: { name: string; type: string; options?: string[] }[] }
}

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount

beforeAll(async () => {
  engaged = await startEngaged({ development: true })
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  // Messages of the former test would be dropped and counted too.
  await t.app.sql('delete from messages')
  account = await engagedAccount(t)
})
afterAll(() => engaged.close())

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', run)
const keep = () =>
  runHousekeeping(t.app, new AbortController().signal, (fault) => {
    throw fault
  })
const visit = (path: string) => t.request('GET', path, { headers: person })

const mergeData = { name: 'Ada', email: 'ada@people.example', resetLink: 'https://shop.example/reset?token=s3cret' }
const send = (more: object = {}) => sendProject(t, sink, account, { mergeData, ...more })

/** All that the database holds of the account's messages, in one text. */
const stored = async () => {
  const rows = await t.app.sql<{ row: string }>('select m::text as row from messages m where account_id = $1', [
    account.id,
  ])
  return rows.map(({ row }) => row).join('\n')
}

describe('the content of a message of a project, 90 days after it ended', () => {
  let mail: Arrived

  beforeEach(async () => {
    mail = await send()
    await t.advance(91 * day)
  })

  test('is kept until then', async () => {
    expect((await visit(mail.view)).status).toBe(200)
    expect(await dropContents(t.app, new Date(t.app.now().getTime() - 92 * day))).toBe(0)
    expect(await stored()).toContain('s3cret')
  })

  test('is dropped except for the merge fields of its links, and the record stays', async () => {
    const before = await work((w) => showMessage(w, mail.id))
    await keep()
    expect(await stored()).not.toContain('s3cret')
    const after = await work((w) => showMessage(w, mail.id))
    expect(after).toEqual({
      ...before,
      mergeData: { email: 'ada@people.example' },
      contentDroppedAt: expect.any(Number),
    })
    expect(before.contentDroppedAt).toBeNull()
  })

  test('its links still redirect to their URLs and fire clicks', async () => {
    const targets = async () => {
      const replies = await Promise.all(mail.clicks.map(visit))
      return replies.map(({ status, headers }) => [status, headers.location])
    }
    const before = await targets()
    expect(before).toContainEqual([302, 'https://example.com/start?email=ada%40people.example'])
    await t.app.sql('delete from interactions where account_id = $1', [account.id])
    await keep()
    expect(await targets()).toEqual(before)
    const told = (await t.events(account.id, 'interaction.received')).filter(
      ({ data }) => data.interaction.kind === 'click',
    )
    expect(told).toHaveLength(2 * before.length)
    expect((await visit(mail.open)).headers['content-type']).toBe('image/gif')
  })

  test('its live view returns 404 with the reason, as a page, as JSON and for answers', async () => {
    await keep()
    const page = await visit(mail.view)
    expect(page.status).toBe(404)
    expect(page.body).toContain('This email is no longer available')
    expect(page.body).not.toContain('Ada')
    const sentence = { error: 'The content of this email is no longer kept' }
    expect(await t.request('GET', `/liveview/${mail.token}`)).toMatchObject({ status: 404, body: sentence })
    expect(await answer(t, mail, 'stars', 5)).toMatchObject({ status: 404, body: sentence })
    const posted = await t.request('POST', mail.view, {
      body: 'block=stars&value=5',
      headers: { ...person, 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(posted.status).toBe(404)
    expect(posted.body).toContain('This email is no longer available')
  })

  test('the export of personal data shows when it was dropped', async () => {
    await keep()
    const { messages } = await work((w) => readPerson(t.app, w, 'ada@people.example'))
    expect(messages).toMatchObject([{ id: mail.id, html: null, contentDroppedAt: expect.any(Number) }])
  })
})

test('an Idempotency-Key never expires: a repeat returns the first response and sends nothing', async () => {
  const call = () =>
    t.request('POST', '/send', { key: account.key, headers: { 'idempotency-key': 'order-1' }, body: freeform() })
  const first = await call()
  const count = sink.mails.length
  await t.advance(91 * day)
  await keep()
  expect(await stored()).not.toContain('on its way')
  const again = await call()
  expect([again.status, again.body]).toEqual([first.status, first.body])
  expect(sink.mails.length).toBe(count)
})

test('unsubscribing still works', async () => {
  await ok(t.request('POST', '/send', { key: account.key, body: freeform({ type: 'marketing' }) }))
  const header = sink.mails.at(-1)!.header('list-unsubscribe')!
  await t.advance(91 * day)
  await keep()
  const path = header.slice(`<${publicUrl}`.length, -1)
  expect(
    (
      await t.request('POST', path, {
        body: 'List-Unsubscribe=One-Click',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    ).status,
  ).toBe(200)
  const rows = await t.app.sql('select reason from suppressions where account_id = $1', [account.id])
  expect(rows).toEqual([{ reason: 'unsubscribed' }])
})

test('a message that has not ended keeps its content at any age, and does not block others', async () => {
  await queueMany(t.app, account.id, 5)
  const ended = await t.request('POST', '/send', { key: account.key, body: freeform() })
  await t.advance(91 * day)
  const before = new Date(t.app.now().getTime() - 90 * day)
  expect(await dropContents(t.app, before, { batchSize: 2 })).toBe(1)
  const rows = await t.app.sql<{ id: string }>(
    'select id from messages where account_id = $1 and dropped_at is not null',
    [account.id],
  )
  expect(rows).toEqual([{ id: ended.body.id }])
  expect(await stored()).toContain('<p>Hi</p>')
})

test('the end of a message writes to no index', async () => {
  const { t: own, close } = await startEngaged()
  const sender = await sendingAccount(own)
  for (let i = 0; i < 20; i++) await ok(own.request('POST', '/send', { key: sender.key, body: freeform() }))
  const updates = `select n_tup_upd as ends, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'messages'`
  await expect.poll(() => own.app.sql(updates)).toEqual([{ ends: 20, hot: 20 }])
  await close()
})

test('the content of a message is dropped once: the next round does not read it', async () => {
  for (let i = 0; i < 5; i++) await ok(t.request('POST', '/send', { key: account.key, body: freeform() }))
  await t.advance(91 * day)
  const before = new Date(t.app.now().getTime() - 90 * day)
  expect(await dropContents(t.app, before, { batchSize: 2 })).toBe(5)
  expect(await dropContents(t.app, before, { batchSize: 2 })).toBe(0)
  expect(await dropContents(t.app, before, { signal: AbortSignal.abort() })).toBe(0)
})

test('linkFields returns the merge fields of the URLs in the rendered email', async () => {
  const sample = sampleProject(`${publicUrl}/picture.png`) as { blocks: object[] }
  const blocks = [
    ...sample.blocks,
    { id: 'more', type: 'button', props: { label: '{{ label }}', url: '{{ start }}?a={{ a }}&b={{ a }}' } },
    {
      id: 'look',
      type: 'image',
      props: { src: 'https://a.example/{{ picture }}.png', alt: '{{ alt }}', href: 'https://a.example/{{ look }}' },
    },
  ]
  const other = await engagedAccount(t, { ...sample, name: 'Other', blocks })
  const ref = { accountId: other.id, id: other.projectId, version: 1 }
  const template = await loadTemplate(t.app, ref)
  const fieldsOf = (parts: readonly Part[]): string[] =>
    parts.flatMap((part) => {
      if (typeof part === 'string') return []
      if ('parts' in part) return fieldsOf(part.parts)
      if (!('url' in part) || part.kind !== 'link') return []
      return part.url.flatMap((piece) => (typeof piece === 'string' ? [] : piece.tag))
    })
  const content = await loadVersion({ sql: t.app.sql, accountId: other.id }, ref.id, ref.version)
  const found = [...new Set([...fieldsOf(template.html), ...fieldsOf(template.text)])]
  expect((await linkFields(content)).sort()).toEqual(found.sort())
  expect(found).toEqual(expect.arrayContaining(['email', 'start', 'a', 'look']))
})

describe('the text of answers', () => {
  const given = { email: 'ada@people.example', name: 'Ada', size: '12' }
  const responses = async () => (await work((w) => listResponses(w, account.projectId, { limit: 50 }))).rows
  let mail: Arrived

  beforeEach(async () => {
    await t.app.sql('delete from interactions')
    mail = await send()
    const view = await t.request('GET', `/liveview/${mail.token}`)
    const form = (view.body.blocks as ShownBlock[])
      .flatMap((block) => block.children ?? block)
      .find(({ type }) => type === 'form')!
    const texts: Record<string, string> = { email: given.email, number: '12', checkbox: 'true' }
    const names = form.props.fields.map(({ name, type, options }) => [name, options?.[0] ?? texts[type] ?? 'Free text'])
    expect((await answer(t, mail, form.id, Object.fromEntries(names))).status).toBe(200)
    expect((await answer(t, mail, 'stars', 5)).body.error).toBeUndefined()
    await t.advance(40 * day)
  })

  test('is kept by default', async () => {
    await keep()
    expect((await responses()).find(({ kind }) => kind === 'form')!.value).not.toBeNull()
  })

  test('is dropped, and the answer stays', async () => {
    const before = new Date(t.app.now().getTime() - 30 * day)
    expect(await dropTexts(t.app, new Date(before.getTime() - 20 * day))).toBe(0)
    expect(await dropTexts(t.app, before)).toBe(1)
    expect(await dropTexts(t.app, before)).toBe(0)
    const rows = await responses()
    expect(rows.find(({ kind }) => kind === 'form')!.value).toBeNull()
    expect(rows.find(({ kind }) => kind === 'rating')!.value).toBe(5)
    expect((await work((w) => summarizeResponses(w, account.projectId))).counts).toMatchObject({ form: 1, rating: 1 })
    const { state } = (await t.request('GET', `/liveview/${mail.token}`)).body
    expect(Object.values(state)).toContainEqual({ kind: 'form', value: null, answeredAt: expect.any(Number) })
    expect((await visit(mail.view)).status).toBe(200)
  })
})

test('each retention has a setting; 0 keeps everything', () => {
  const env = { DATABASE_URL: t.url, SVC_SECRET: 'a secret that only tests use' }
  expect(readConfig(env)).toMatchObject({ messageRetentionDays: 90, responseRetentionDays: 0 })
  const set = { SVC_MESSAGE_RETENTION_DAYS: '0', SVC_RESPONSE_RETENTION_DAYS: '365' }
  expect(readConfig({ ...env, ...set })).toMatchObject({ messageRetentionDays: 0, responseRetentionDays: 365 })
  for (const [name, value] of [
    ['SVC_MESSAGE_RETENTION_DAYS', '-1'],
    ['SVC_RESPONSE_RETENTION_DAYS', '10001'],
  ] as const)
    expect(() => readConfig({ ...env, [name]: value })).toThrow(name)
})

test('with 0 nothing is dropped', async () => {
  const other = await startEngaged({ development: true, env: { SVC_MESSAGE_RETENTION_DAYS: '0' } })
  const sender = await engagedAccount(other.t)
  await sendProject(other.t, other.sink, sender)
  await other.t.advance(1000 * day)
  await runHousekeeping(other.t.app, new AbortController().signal)
  expect(await other.t.app.sql('select from messages where dropped_at is not null')).toEqual([])
  await other.close()
})
