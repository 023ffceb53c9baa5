import { beforeEach, expect, test } from 'vitest'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import type { TokenPurpose } from '../../src/lib/token.ts'
import { ok } from '../support/app.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  engagedAccount,
  sendProject,
  useEngaged,
} from '../support/engagement.ts'

const { t, sink } = useEngaged({ env: { SVC_RATE_LIMIT_PUBLIC: '70', SVC_TRUST_PROXY: '10.0.0.0/8' } })

let account: EngagedAccount
let mail: Arrived
let clients = 0
/** The client's address; each test has its own. */
let client: string

beforeEach(async () => {
  client = `198.51.100.${++clients}`
  account = await engagedAccount(t)
  mail = await sendProject(t, sink, account)
})

const post = (url: string, payload: string | object = '', from = client) =>
  t.server.fastify.inject({
    method: 'POST',
    url,
    remoteAddress: from,
    headers: {
      'content-type': typeof payload === 'string' ? 'application/x-www-form-urlencoded' : 'application/json',
    },
    payload: payload as string,
  })

const vote = (i: number, from = client, { token }: Arrived = mail) =>
  post(`/api/v1/liveview/${token}/interactions`, { blockId: 'colour', value: i }, from)

/** Makes that many calls at once, which are counted in few statements. Returns the number of answers with each status. */
const counts = async (n: number, call: (i: number) => Promise<{ statusCode: number }>) => {
  const found: Record<number, number> = {}
  for (const { statusCode } of await Promise.all(Array.from({ length: n }, (_, i) => call(i))))
    found[statusCode] = (found[statusCode] ?? 0) + 1
  return found
}

/** Writes without a key that no limit of these counts, each with the reason. */
const unlimited: Record<string, string> = {
  '/p/stripe/:accountId': 'Stripe signs each event with a secret of the account',
}

/** Pages without a token in their path: what must be posted, and which address sees the limit. */
const tokenless: Record<string, string> = {
  '/f/:id': 'a form has no token',
  '/webinar/:id': 'a webinar has no token',
  '/:slug/:courseId/embed': 'in the field session',
}

test('every write without a key is limited by client and by token', async () => {
  const open = (await loadRoutes()).filter(({ isOpen, method }) => isOpen && method !== 'GET')
  const routes = open.map(({ path }) => ({ path: `/api/v1${path}`, token: 'liveview' as TokenPurpose | undefined }))
  const posts = (await loadPages()).filter(({ method }) => method !== 'GET' && method !== 'OPTIONS')
  const writes = [...routes, ...posts.map(({ path, token }) => ({ path, token }))].filter(
    ({ path }) => !unlimited[path],
  )
  expect(writes.length).toBeGreaterThan(8)
  for (const [i, { path, token }] of writes.entries()) {
    if (!token && !tokenless[path]) throw new Error(`${path} has no token: name here what limits it`)
    const signed = token && t.app.tokens.sign(token, [account.id, `subject of ${path} ${i}`], null)
    const url = path.replace(':token', signed ?? '').replace(/:\w+/g, 'some')
    // Other clients of the same token are limited after 60, other tokens of the same client after 70.
    const perClient = await counts(71, async (n) => {
      const other = token && t.app.tokens.sign(token, [account.id, `${path} ${n}`], null)
      return post(path.replace(':token', other ?? '').replace(/:\w+/g, 'some'), '', `203.0.113.${i}`)
    })
    expect([path, perClient[429]]).toEqual([path, 1])
    if (!token) continue
    const perToken = await counts(61, (n) => post(url, '', `10.${i}.0.${n}`))
    expect([path, perToken[429]]).toEqual([path, 1])
  }
})

test('the 61st answer of a link in a minute is 429 { error } with Retry-After, also for other clients; other links are not affected', async () => {
  const { body } = await ok(t.request('GET', `/liveview/${mail.token}`))
  expect(JSON.stringify(body)).toContain('"colour"')
  expect(await counts(60, (i) => vote(i, `192.0.2.${i}`))).not.toHaveProperty('429')
  const over = await vote(61, '192.0.2.99')
  expect([over.statusCode, over.json()]).toEqual([429, { error: 'Too many requests in a minute' }])
  expect(Number(over.headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(over.headers['retry-after'])).toBeLessThanOrEqual(60)
  const page = await post(mail.view, 'block=colour&value=1', '192.0.2.99')
  expect([page.statusCode, page.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8'])
  expect(Number(page.headers['retry-after'])).toBeGreaterThan(0)
  const other = await sendProject(t, sink, account)
  expect((await vote(1, client, other)).statusCode).not.toBe(429)
  await t.app.sql(`update rate_windows set started_at = started_at - interval '61 seconds'`)
  expect((await vote(1)).statusCode).not.toBe(429)
})

test('a session of the portal is limited like a token, and looking at pages is not limited', async () => {
  const portal = (n: number) => post('/some-slug/crs_1/embed', 'session=one&lesson=2', `192.0.2.${100 + n}`)
  expect((await counts(61, portal))[429]).toBe(1)
  const look = () => t.server.fastify.inject({ method: 'GET', url: mail.view, remoteAddress: client })
  expect(await counts(72, look)).toEqual({ 200: 72 })
})

test('an answer can be changed 20 times for each block; the same answer stays a duplicate; nothing is fired beyond that', async () => {
  const change = async (i: number) => (await answer(t, mail, 'stars', 1 + (i % 2))).status
  await t.app.sql('delete from rate_windows')
  const statuses: number[] = []
  for (let i = 0; i < 21; i++) statuses.push(await change(i))
  expect(statuses).toEqual(Array(21).fill(200))
  const fired = (await t.events(account.id, 'interaction.received')).length
  const over = await answer(t, mail, 'stars', 2)
  expect([over.status, over.body]).toEqual([409, { error: "This answer can't be changed any more" }])
  expect((await answer(t, mail, 'stars', 1)).body).toEqual({ ok: true, duplicate: true })
  expect((await t.events(account.id, 'interaction.received')).length).toBe(fired)
  expect(fired).toBe(21)
  // Other blocks and other emails have a limit of their own.
  const other = await sendProject(t, sink, account)
  expect((await answer(t, other, 'stars', 2)).status).toBe(200)
})
