import { beforeEach, expect, test } from 'vitest'
import { type Left, leaveMail } from '../../src/suppressions/suppressions.add.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { useSink } from '../support/smtp.ts'

let account: TestAccount
let path: string

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  await send('marketing')
  path = /<https:\/\/svc\.example(.*)>/.exec(sink.mails.at(-1)!.header('list-unsubscribe')!)![1]!
})

const send = async (type: string) =>
  (await t.request('POST', '/send', { key: account.key, body: freeform({ type }) })).body
const oneClick = {
  body: 'List-Unsubscribe=One-Click',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
}
const suppressions = () => t.app.sql('select email, reason from suppressions where account_id = $1', [account.id])

test('the POST of a mail client unsubscribes at once: marketing is suppressed, transactional email is not', async () => {
  const reply = await t.request('POST', path, oneClick)
  expect(reply.status).toBe(200)
  expect(await suppressions()).toEqual([{ email: 'ada@people.example', reason: 'unsubscribed' }])
  expect(await send('marketing')).toMatchObject({ status: 'suppressed', reason: 'unsubscribed' })
  expect(await send('transactional')).toMatchObject({ status: 'sent' })
})

test('the POST may be multipart/form-data, have no body, and be repeated', async () => {
  const multipart = {
    body: '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  }
  expect((await t.request('POST', path, multipart)).status).toBe(200)
  expect((await t.request('POST', path)).status).toBe(200)
  expect(await suppressions()).toHaveLength(1)
})

test('the link names the message; a link of an earlier version, which does not, works as well', async () => {
  const [message] = await t.app.sql<{ id: string }>('select id from messages where account_id = $1', [account.id])
  const token = path.slice('/u/'.length)
  expect(t.app.tokens.read('unsubscribe', token, 0)).toEqual([account.id, 'ada@people.example', message!.id])
  const former = t.app.tokens.sign('unsubscribe', [account.id, 'bo@people.example'], null)
  expect((await t.request('GET', `/u/${former}`)).body).toContain('bo@people.example')
  expect((await t.request('POST', `/u/${former}`, oneClick)).status).toBe(200)
  expect(await suppressions()).toEqual([{ email: 'bo@people.example', reason: 'unsubscribed' }])
})

test('leaving by a link is reported with its message, once; by a link without a message it is not', async () => {
  const reported: Left[] = []
  const mailLeft = async (_: unknown, left: Left) => void reported.push(left)
  const leave = (email: string, messageId: string | null) =>
    t.app.work(account.id, 'test', (work) =>
      leaveMail(Object.assign(Object.create(work), { listeners: async () => [{ mailLeft }] }), {
        email,
        messageId,
        topicIds: null,
      }),
    )
  expect(await leave('ada@people.example', 'msg_1')).toBe(true)
  expect(await leave('ada@people.example', 'msg_2')).toBe(false)
  expect(await leave('bo@people.example', null)).toBe(true)
  expect(reported).toEqual([{ email: 'ada@people.example', messageId: 'msg_1', topicIds: null }])
})

test('the GET shows the address and a button, and changes nothing', async () => {
  const reply = await t.request('GET', path)
  expect(reply.status).toBe(200)
  expect(reply.body).toContain('ada@people.example')
  expect(reply.body).toContain('<form method="post"><button type="submit">Unsubscribe</button></form>')
  expect(await suppressions()).toEqual([])
})

test('a changed, truncated or foreign token is a 404 page', async () => {
  const token = path.slice('/u/'.length)
  const other = t.app.tokens.sign('unsubscribe', ['acc_gone', 'ada@people.example'], null)
  for (const bad of ['x', token.slice(0, -1), `${token}A`, token.replace('.', 'A.'), `${token}.${token}`, other]) {
    const reply = await t.request('POST', `/u/${bad}`, oneClick)
    expect([bad, reply.status, String(reply.headers['content-type'])]).toEqual([bad, 404, 'text/html; charset=utf-8'])
    expect(reply.body).toContain('This link does not work')
  }
  expect(await suppressions()).toEqual([])
})

test('a page loads nothing, and forbids frames, caching, indexing and referrers', async () => {
  for (const reply of [await t.request('GET', path), await t.request('GET', '/u/x')]) {
    expect(reply.headers).toMatchObject({
      'content-security-policy': expect.stringMatching(/^default-src 'none'; style-src(?: 'sha256-[^']+')+;/),
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
      'x-robots-tag': 'noindex',
      'x-frame-options': 'DENY',
    })
    expect(reply.headers['content-security-policy']).not.toContain('unsafe-inline')
    expect(reply.body).not.toMatch(/<script|src=|https?:/)
  }
})

test('an address is always escaped', async () => {
  const token = t.app.tokens.sign('unsubscribe', [account.id, '"<b>x</b>"@people.example'], null)
  const reply = await t.request('GET', `/u/${token}`)
  expect(reply.body).toContain('&lt;b&gt;x&lt;/b&gt;')
  expect(reply.body).not.toContain('<b>')
})

test('an unexpected error is answered with a page', async () => {
  const reply = await t.request('POST', path, { ...oneClick, body: 'x'.repeat(100_000) })
  expect([reply.status, String(reply.headers['content-type'])]).toEqual([413, 'text/html; charset=utf-8'])
})
