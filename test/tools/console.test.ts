import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Content } from '../../src/http/answered.ts'
import { newSigningSecret, signedHeaders } from '../../src/lib/signature.ts'
import { showClock } from '../../src/store/clock.ts'
import { readMode, setMode } from '../../src/tools/catcher/catcher.mode.ts'
import { caughtIds, removeCaught } from '../../src/tools/catcher/catcher.ts'
import { startConsole, type TestConsole } from '../support/console.ts'

let c: TestConsole

beforeAll(async () => {
  c = await startConsole()
})
beforeEach(() => {
  removeCaught(c.folder, caughtIds(c.folder))
  setMode(c.folder, 'accept', null)
})
afterAll(() => c.close())

const get = async (path: string) => {
  const answer = await fetch(c.console.url + path)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
const post = (
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = { origin: c.console.url },
) => fetch(c.console.url + path, { method: 'POST', headers, body: new URLSearchParams(form), redirect: 'manual' })
const firstId = () => caughtIds(c.folder).at(-1)!

test('a page without scripts shows email, webhooks, API calls and the clock', async () => {
  await c.mail({ subject: 'Grüße & <b>Küsse</b>' })
  c.console.addCall({ method: 'PATCH', path: '/api/v1/deals/deal_1', status: 404, ms: 3.14, requestId: 'req_1' }, null)
  const { text, headers } = await get('/')
  expect(text).toContain('Grüße &amp; &lt;b&gt;Küsse&lt;/b&gt;')
  expect(text).toMatch(/PATCH[\s\S]*\/api\/v1\/deals\/deal_1[\s\S]*req_1[\s\S]*404[\s\S]*3\.1 ms/)
  expect(text).toContain('1 email · 0 webhooks · 1 API call<')
  expect((await get('/webhooks')).text).toContain('Nothing has arrived yet')
  expect(text).toContain('system time')
  expect(headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/)
  expect((await get('/calls')).text).toContain('1 request<')
})

test('email is found by subject, by address and by its text, case-insensitively', async () => {
  await c.mail({ subject: 'Your order', to: 'ada@people.example', text: 'It has shipped' })
  await c.mail({ subject: 'Your invoice', to: 'bob@people.example', text: 'Please pay' })
  const found = async (q: string) => {
    const { text } = await get(`/mail?${new URLSearchParams({ q })}`)
    return ['Your order', 'Your invoice'].filter((subject) => text.includes(`>${subject}<`))
  }
  expect(await found('INVOICE')).toEqual(['Your invoice'])
  expect(await found('ada@')).toEqual(['Your order'])
  expect(await found('has shipped')).toEqual(['Your order'])
  expect(await found('your')).toEqual(['Your order', 'Your invoice'])
  expect((await get('/mail?q=%22%3E%3Cscript%3E')).text).toContain('No email matches “&quot;&gt;&lt;script&gt;”')
})

test('what a search has found is deleted, and nothing else', async () => {
  await c.mail({ subject: 'Your order', to: 'ada@people.example' })
  await c.mail({ subject: 'Your invoice', to: 'bob@people.example' })
  const { text } = await get('/mail?q=to:bob')
  expect(text).toContain('>Delete the 1 found<')
  expect(text).toContain('<input type="hidden" name="q" value="to:bob">')
  expect((await post('/mail/clear', { q: 'to:bob', back: '/mail' })).status).toBe(303)
  const left = (await get('/mail')).text
  expect([left.includes('Your order'), left.includes('Your invoice')]).toEqual([true, false])
  expect(left).toContain('>Clear all 1<')
})

test('a page without a form refuses one, and names what it accepts', async () => {
  const { status, headers } = await post('/calls', {})
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('email beyond one page continues on the next page', async () => {
  for (let n = 0; n < 102; n++) await c.mail({ subject: `Mail number ${n}.` })
  const first = (await get('/mail')).text
  expect(first).toContain('102 caught')
  expect([first.includes('number 101.'), first.includes('number 2.'), first.includes('number 1.')]).toEqual([
    true,
    true,
    false,
  ])
  const older = /href="(\/mail\?before=[^"]+)"/.exec(first)![1]!
  const second = (await get(older)).text
  // Emails of the same millisecond have no order.
  expect(second.match(/number \d+\./g)?.sort()).toEqual(['number 0.', 'number 1.'])
  expect(second).not.toContain('before=')
})

test('an email is shown with its HTML in a sandboxed document, its text, headers, source and attachments', async () => {
  const calendar = 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n'
  await c.mail({
    subject: 'Your call',
    html: '<!doctype html><html><head><title>x</title></head><body><p>See you</p></body></html>',
    text: 'See <you>',
    headers: { 'X-Mark': 'here' },
    attachments: [
      {
        filename: 'a "call"/é.ics',
        content: calendar,
        contentType: 'text/calendar',
        contentTransferEncoding: 'base64',
      },
    ],
  })
  const path = `/mail/${firstId()}`
  const shown = (await get(path)).text
  expect(shown).toContain(`src="${path}/html" sandbox="allow-popups allow-popups-to-escape-sandbox"`)
  const frame = await get(`${path}/html`)
  expect(frame.text).toContain('<head><base target="_blank"><title>x</title>')
  const policy = frame.headers.get('content-security-policy')
  expect(policy).toMatch(
    /^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data: /,
  )
  expect(policy).not.toMatch(/script-src|allow-scripts|allow-same-origin|allow-forms|allow-top-navigation/)
  expect((await get(`${path}?show=text`)).text).toContain('<pre>See &lt;you&gt;')
  expect((await get(`${path}?show=headers`)).text).toMatch(/<dt>X-Mark<\/dt><dd>here<\/dd>/)
  expect((await get(`${path}?show=source`)).text).toContain('X-Mark: here')
  expect((await get(`${path}/source`)).text).toContain('X-Mark: here')
  const attachment = await get(`${path}/attachments/0`)
  expect(attachment.text).toBe(calendar)
  expect(attachment.headers.get('content-type')).toBe('application/octet-stream')
  expect(attachment.headers.get('content-disposition')).toMatch(/^attachment; filename\*=UTF-8''[\w%.-]+\.ics$/)
  for (const gone of [`${path}/attachments/1`, '/mail/msg_nothing', '/mail/..%2fdemo', '/nothing'])
    expect((await get(gone)).status).toBe(404)
})

test('the switches and clear do what svc mail does, and return to the page that they were used on', async () => {
  const set = await post('/mail/mode', { mode: 'hang', back: '/calls' })
  expect([set.status, set.headers.get('location'), readMode(c.folder).mode]).toEqual([303, '/calls', 'hang'])
  expect((await get('/calls')).text).toContain('Email is held without an answer')
  const held = c.mail({ subject: 'Held' })
  await expect.poll(() => c.catcher.held()).toBe(1)
  expect((await get('/')).text).toContain('1 held now')
  await post('/mail/mode', { mode: 'accept', back: '//elsewhere.example/' }).then(({ headers }) =>
    expect(headers.get('location')).toBe('/'),
  )
  await held
  expect((await get('/mail')).text).toContain('Clear all 1')
  expect((await post('/mail/clear', { back: '/mail' })).status).toBe(303)
  expect(caughtIds(c.folder)).toEqual([])
  expect((await post('/mail/mode', { mode: 'explode' })).status).toBe(400)
})

test('the clock moves forward and back as by svc clock, and the next page shows it', async () => {
  expect((await post('/clock', { by: '1d', back: '/' })).status).toBe(303)
  expect((await showClock(c.t.app.sql)).offsetMs).toBe(86_400_000)
  expect((await get('/')).text).toContain('1 d ahead')
  await post('/clock', { by: '1h', back: '/' })
  expect((await get('/webhooks')).text).toContain('1 d 1 h ahead')
  expect((await post('/clock', { by: 'forever' })).status).toBe(400)
  await post('/clock', { by: 'reset', back: '/' })
  expect((await showClock(c.t.app.sql)).offsetMs).toBe(0)
})

test('a request that changes something is refused unless the console itself posts it', async () => {
  await c.mail({ subject: 'Stays' })
  const strangers = [
    {},
    { origin: 'http://elsewhere.example' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: `${c.console.url}0` },
  ] as Record<string, string>[]
  for (const headers of strangers)
    for (const path of ['/mail/clear', '/mail/delete', '/mail/mode', '/mail/links', '/clock'])
      expect((await post(path, { mode: 'refuse', by: '1d' }, headers)).status).toBe(403)
  expect([caughtIds(c.folder).length, readMode(c.folder).mode]).toEqual([1, 'accept'])
  expect((await showClock(c.t.app.sql)).offsetMs).toBe(0)
  expect((await get('/mail/clear')).status).toBe(404)
  expect((await post('/mail/mode', { mode: 'refuse' }, { 'sec-fetch-site': 'same-origin' })).status).toBe(303)
})

test('a request by another host name that resolves to this machine is refused', async () => {
  const status = (host: string) =>
    new Promise((resolve) =>
      request({ port: c.console.port, path: '/mail', headers: { host } }, (answer) =>
        resolve(answer.resume().statusCode),
      ).end(),
    )
  expect(await status(`rebound.example:${c.console.port}`)).toBe(421)
  expect(await status(`localhost:${c.console.port}`)).toBe(200)
})

test('health checks, checks of links and icons are not shown as API calls', async () => {
  const before = (await get('/calls')).text.match(/(\d+) requests?</)![1]
  for (const path of ['/healthz', '/readyz', '/favicon.ico', '/sample/harbour.png'])
    c.console.addCall({ method: 'GET', path, status: 200, ms: 1, requestId: 'req_2' }, null)
  c.console.addCall({ method: 'HEAD', path: '/v/:token', status: 200, ms: 1, requestId: 'req_2' }, null)
  expect((await get('/calls')).text.match(/(\d+) requests?</)![1]).toBe(before)
})

const call = (path: string, content: Content | null = null, status = 200) =>
  c.console.addCall({ method: 'POST', path, status, ms: 1, requestId: 'req_2' }, content)
const deliver = async (type: string, data: object) => {
  const body = JSON.stringify({ id: `evt_${type}`, type, createdAt: Date.now(), data })
  const headers = { ...signedHeaders(c.secret, c.t.app.systemNow().getTime(), 'evt_key', body) }
  expect((await fetch(c.console.hookUrl, { method: 'POST', headers, body })).status).toBe(204)
}

test('an API call shows its query and its bodies without secrets, and keeps nothing else of them', async () => {
  const secret = newSigningSecret()
  call('/api/v1/webhooks', {
    query: '?email=ada%40people.example&token=hunter2',
    sent: { url: 'http://127.0.0.1:9/x', secret, note: '<b>' },
    received: JSON.stringify({ secret, subscription: { id: 'whk_1' } }),
  })
  const { text } = await get('/calls')
  expect(text).toContain('?email=ada@people.example&amp;token=…')
  expect(text).toMatch(/Request[\s\S]*http:\/\/127\.0\.0\.1:9\/x[\s\S]*&lt;b&gt;[\s\S]*Response[\s\S]*whk_1/)
  for (const path of ['/', '/calls', '/deliveries']) expect((await get(path)).text).not.toMatch(/whsec_\w|hunter2/)
  expect((await get(`/calls?q=${secret}`)).text).toContain('Nothing matches')
})

test('all kinds are on one page in the order of their arrival, with what they are about', async () => {
  call('/api/v1/deals')
  await deliver('deal.created', { deal: { title: 'Annual plan', stage: 'New', email: 'ada@people.example' } })
  await c.mail({ subject: 'Thank you', to: 'ada@people.example' })
  const { text } = await get('/')
  const places = ['>Thank you<', 'Annual plan · New · ada@people.example', '/api/v1/deals<'].map((part) =>
    text.indexOf(part),
  )
  expect(places.every((place) => place > 0)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})

test('a search finds an address in emails, webhooks and the bodies of calls, and stays while the kind changes', async () => {
  const content = { query: '', sent: { email: 'zoe@people.example' }, received: null }
  call('/api/v1/contacts', content)
  call('/api/v1/lists')
  await deliver('contact.created', { contact: { email: 'zoe@people.example' } })
  await deliver('contact.created', { contact: { email: 'bob@people.example' } })
  await c.mail({ subject: 'For her', to: 'zoe@people.example' })
  await c.mail({ subject: 'For him', to: 'bob@people.example' })
  const { text } = await get('/?q=ZOE@')
  expect(text).toContain('3 found')
  expect(text).not.toMatch(/For him|>bob@|\/api\/v1\/lists/)
  for (const path of ['/mail', '/webhooks', '/calls']) {
    expect(text).toContain(`href="${path}?q=ZOE%40"`)
    expect((await get(`${path}?q=zoe@`)).text).toMatch(/>1 of \d+ found</)
  }
  const one = await get(/href="(\/mail\/msg_\w+\?q=ZOE%40)"/.exec(text)![1]!)
  expect(one.text).toContain('For her')
  expect(one.text).not.toContain('For him')
  expect((await get('/?q=%3Cscript%3E')).text).toContain('Nothing matches “&lt;script&gt;”')
})

test('a search takes words, phrases, fields of each kind, what must not match, and days', async () => {
  await c.mail({
    subject: 'Annual plan',
    to: 'Zoe <zoe@search.example>',
    text: 'The other one',
    attachments: [{ content: 'x' }],
  })
  await c.mail({
    subject: 'Plan of the annual tour',
    to: 'bob@search.example',
    text: 'Annual plan, see https://a.example',
  })
  await deliver('deal.updated', { deal: { title: 'Annual plan', email: 'zoe@search.example' } })
  c.console.addCall({ method: 'GET', path: '/api/v1/search-a', status: 200, ms: 1, requestId: 'req_1' }, null)
  call('/api/v1/search-b', null, 404)
  const rows = {
    first: /to [^<]*zoe@search/,
    second: /to [^<]*bob@search/,
    webhook: />deal\.updated</,
    call: /search-a</,
    refused: /search-b</,
  }
  const found = async (q: string) => {
    const { text } = await get(`/?${new URLSearchParams({ q: `${q} ` })}`)
    return Object.entries(rows).flatMap(([name, row]) => (row.test(text) ? [name] : []))
  }
  expect(await found('annual tour search.example')).toEqual(['second'])
  expect(await found('"annual plan" search.example')).toEqual(['first', 'second', 'webhook'])
  expect(await found('to:search.example subject:"annual plan"')).toEqual(['first'])
  expect(await found('to:search.example -subject:tour')).toEqual(['first'])
  expect(await found('has:attachment to:search.example')).toEqual(['first'])
  expect(await found('from:shop@ -has:attachment search.example')).toEqual(['second'])
  expect(await found('https://a.example')).toEqual(['second'])
  expect(await found('type:DEAL. zoe@search')).toEqual(['webhook'])
  expect(await found('path:/search- -method:post')).toEqual(['call'])
  for (const status of ['404', '4xx', '4']) expect(await found(`path:/search- status:${status}`)).toEqual(['refused'])
  expect(await found('is:failed path:/search-')).toEqual(['refused'])
  expect(await found('after:2026-01-01 to:zoe@search')).toEqual(['first'])
  expect(await found('before:2026-01-01 search')).toEqual([])
  expect(await found('before:noon search')).toEqual([])
})

test('the links of an email are listed by what they lead to, and only this machine is asked about them', async () => {
  const asked: string[] = []
  const target = createServer((incoming, answer) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    answer.writeHead(incoming.url === '/gone' ? 404 : 302, { location: 'https://elsewhere.example.net/' }).end()
  })
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
  const port = (target.address() as AddressInfo).port
  const [here, own] = [`http://localhost:${port}`, c.daemonOrigin]
  const html = `<a href="${here}/gone">Gone</a> <a href="${here}/moved">Moved</a> <a href="${own}/t/c/x">Tracked</a>
    <a href="${own}/t/h/${'token'.repeat(20)}"></a> <a href="${own}/v/token?block=colour">View</a>
    <a href="${own}/u/token"><img alt="Leave" src="x"></a> <a href="https://elsewhere.org/?a=1&amp;b=2">Other</a>
    <a href="#">Later</a> <a>Never</a> <a href="javascript:alert(1)">Script</a> <a href="/pricing">Relative</a>
    <a href="https://example.com/start">Start</a> <a href="{{ url }}">Unfilled</a> <a href="mailto:a@b.example">Write</a>
    <a href="#end">End</a> <h2 id="end">End</h2> <!-- <a href="https://comment.example.net/">Comment</a> -->`
  await c.mail({ subject: 'Links', html })
  const path = `/mail/${firstId()}`
  const rows = async () => {
    const { text } = await get(`${path}?show=links`)
    return Array.from(
      text.matchAll(
        /<span class="kind [^"]*">([^<]*)<\/span>\n<span class="what"><span class="subject">([^<]*)<[\s\S]*?<span class="end">([\s\S]*?)<\/span>\n<\/li>/g,
      ),
      ([, kind, name, status]) => [name, kind, status!.replace(/<[^>]*>/g, '')],
    )
  }
  const kinds = [
    ['Gone', 'this machine', ''],
    ['Moved', 'this machine', ''],
    ['Tracked', 'page of svc, counts clicks', ''],
    ['(no text)', 'hidden, finds scanners', ''],
    ['View', 'page of svc, counts clicks', ''],
    ['Leave', 'page of svc', ''],
    ['Other', 'other host, not called', ''],
    ['Later', 'leads nowhere', ''],
    ['Never', 'leads nowhere', ''],
    ['Script', 'leads nowhere', ''],
    ['Relative', 'leads nowhere', ''],
    ['Start', 'placeholder', ''],
    ['Unfilled', 'placeholder', ''],
    ['Write', 'address', ''],
    ['End', 'in this email', ''],
  ]
  expect(await rows()).toEqual(kinds)
  expect((await get(`${path}?show=links`)).text).toContain('6 of 15 links to fix')
  expect(asked).toEqual([])
  const answer = await post('/mail/links', { id: firstId(), back: `${path}?show=links` })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `${path}?show=links`])
  expect(asked.toSorted()).toEqual(['HEAD /gone', 'HEAD /moved'])
  const statuses = Object.fromEntries((await rows()).map(([name, , status]) => [name, status]))
  expect(statuses).toMatchObject({ Gone: '404', Moved: '302', Tracked: '', Leave: 'no answer', Other: '' })
  await new Promise((resolve) => target.close(resolve))
})

test('the links of an email are checked eight at a time', async () => {
  const waiting: (() => void)[] = []
  let [asked, most] = [0, 0]
  const target = createServer(async (incoming, answer) => {
    const end = () => answer.writeHead(200).end()
    if (incoming.url === '/after') return end()
    asked++
    waiting.push(end)
    if (waiting.length < 8 && asked < 20) return
    // A ninth check would arrive before this request.
    await fetch(`http://localhost:${port}/after`)
    most = Math.max(most, waiting.length)
    for (const one of waiting.splice(0)) one()
  })
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
  const { port } = target.address() as AddressInfo
  const html = Array.from({ length: 20 }, (_, n) => `<a href="http://localhost:${port}/${n}">${n}</a>`).join(' ')
  await c.mail({ subject: 'Many links', html })
  await post('/mail/links', { id: firstId(), back: '/' })
  expect([asked, most]).toEqual([20, 8])
  await new Promise((resolve) => target.close(resolve))
})

test('an email is deleted by itself', async () => {
  for (const subject of ['First', 'Second']) await c.mail({ subject })
  const [first, second] = caughtIds(c.folder)
  expect((await get(`/mail/${first}`)).text).toContain('action="/mail/delete"')
  const answer = await post('/mail/delete', { id: first!, back: '/mail' })
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/mail'])
  expect(caughtIds(c.folder)).toEqual([second])
  await post('/mail/delete', { id: 'msg_0', back: '/mail' })
  expect(caughtIds(c.folder)).toEqual([second])
})

test('what Outlook and Gmail drop of an email is listed, each once', async () => {
  await c.mail({
    subject: 'Plain',
    html: '<p style="position:absolute">A</p><p style="position:absolute">B</p><form></form>',
  })
  const { text } = await get(`/mail/${firstId()}?show=check`)
  expect(text.match(/<li>position:absolute \(layout\)<\/li>/g)).toHaveLength(1)
  expect(text).toContain('<li>the element form</li>')
  expect((await get(`/mail/${firstId()}`)).text).toMatch(/>Check <span class="pill warn">\d+<\/span>/)
  await c.mail({ subject: 'Text only', text: 'Hello' })
  expect((await get(`/mail/${firstId()}?show=check`)).text).toContain('This email has no HTML part')
})

test('the page of all email says how many are kept', async () => {
  expect((await get('/mail')).text).toContain('The newest 1,000 emails are kept')
})
