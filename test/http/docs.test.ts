import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ok, useApp } from '../support/app.ts'

const t = useApp({ env: { SVC_PUBLIC_URL: 'https://svc.example/mail' } })

const read = async (): Promise<string> => (await ok(t.request('GET', '/docs'))).body as unknown as string

/** Returns the text of a part of the page, as a reader sees it. */
const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')

/** Returns the section with an id. */
const sectionOf = (page: string, id: string): string => {
  const found = page.split(/(?=<section )/).find((one) => one.includes(`id="${id}"`))
  if (!found) throw new Error(`no section ${id}`)
  return found
}

// biome-ignore lint/suspicious/noExplicitAny: schemas are read at any depth
type Schema = any

test('it shows every operation, every component and every event, and each link leads to a part of it', async () => {
  const body = await read()
  const document = (await ok(t.request('GET', '/openapi.json'))).body
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId }] of Object.entries(methods)) {
      expect(sectionOf(body, operationId)).toContain(`data-method="${method}" data-path="${path}"`)
      expect(sectionOf(body, operationId)).toContain(`class="method ${method}"`)
    }
  for (const [type, webhook] of Object.entries<Schema>(document.webhooks)) {
    const section = textOf(sectionOf(body, `event-${type.replace(/\W/g, '-')}`))
    expect(section).toContain(JSON.stringify(webhook.post.requestBody.content['application/json'].example, null, 2))
  }
  const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(ids.length).toBe(new Set(ids).size)
  for (const name of Object.keys(document.components.schemas))
    if (name !== 'Error') expect(ids).toContain(`shape-${name}`)
  const targets = [...body.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target)
  expect(targets.length).toBeGreaterThan(100)
  for (const target of targets) expect(ids).toContain(target)
})

test('it shows each property and parameter of a request with its description and its default', async () => {
  const body = await read()
  const document = (await ok(t.request('GET', '/openapi.json'))).body
  let seen = 0
  const expectAll = (section: string, schema: Schema) => {
    for (const [name, property] of Object.entries<Schema>(schema.properties ?? {})) {
      seen++
      expect(section).toContain(name)
      expect(section).toContain(property.description.replaceAll('`', ''))
      if (property.default !== undefined) expect(section).toContain(`default ${JSON.stringify(property.default)}`)
      expectAll(section, property.items ?? property)
    }
    for (const one of schema.anyOf ?? schema.allOf ?? []) expectAll(section, one)
  }
  for (const methods of Object.values(document.paths))
    for (const { operationId, parameters = [], requestBody } of Object.values<Schema>(methods)) {
      const section = textOf(sectionOf(body, operationId))
      for (const { name, description } of parameters) {
        expect(section).toContain(`${name} `)
        expect(section).toContain(description.replaceAll('`', ''))
      }
      if (requestBody) expectAll(section, requestBody.content['application/json'].schema)
    }
  expect(seen).toBeGreaterThan(60)
})

test('it begins with what the API is and one call, and explains the rules before the resources', async () => {
  const body = await read()
  const text = textOf(body.slice(body.indexOf('<h1')))
  expect(text).toMatch(/^The API of svc\s*Send email, keep contacts and deals/)
  expect(text.indexOf('curl https://svc.example/mail/api/v1/send')).toBeLessThan(text.indexOf('Authentication'))
  expect(text.indexOf('NUL')).toBe(-1)
  const parts = [...body.matchAll(/<section class="part" id="([\w-]+)"/g)].map(([, id]) => id)
  expect(parts.slice(0, 7)).toEqual([
    'start',
    'authentication',
    'errors',
    'idempotency',
    'paging',
    'rate-limits',
    'part-email',
  ])
  expect(parts.at(-1)).toBe('events')
})

test('each operation has its call in curl, TypeScript and Python, and a sample of its response', async () => {
  const body = await read()
  const section = textOf(sectionOf(body, 'updateDeal'))
  expect(section).toContain('curl -X PATCH https://svc.example/mail/api/v1/deals/deal_… \\')
  expect(section).toContain("svc.patch('/deals/{id}', {")
  expect(section).toContain('requests.patch(\n    "https://svc.example/mail/api/v1/deals/deal_…",')
  expect(section).toContain('"moved": true')
  // A sample without a value of its own shows the name of the property.
  expect([...textOf(body).matchAll(/"(\w+)": "\1"/g)].map(([text]) => text)).toEqual([])
  for (const [, id] of body.matchAll(/<section class="operation" id="([a-z]\w+)"/g))
    if (!id!.startsWith('event'))
      for (const language of ['curl', 'TypeScript', 'Python'])
        expect(sectionOf(body, id!)).toContain(`data-lang="${language}"`)
})

test('it is compressed as the client accepts, under a policy without exceptions, and not sent again while it is the same', async () => {
  const get = (headers: Record<string, string>) => t.server.fastify.inject({ method: 'GET', url: '/docs', headers })
  const plain = await get({})
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(plain.headers['content-security-policy']).not.toContain('unsafe')
  expect(plain.headers['content-type']).toBe('text/html; charset=utf-8')
  const br = await get({ 'accept-encoding': 'gzip, deflate, br' })
  expect([br.headers['content-encoding'], brotliDecompressSync(br.rawPayload).equals(plain.rawPayload)]).toEqual([
    'br',
    true,
  ])
  expect(br.rawPayload.length).toBeLessThan(50_000)
  const gzip = await get({ 'accept-encoding': 'gzip, br;q=0' })
  expect([gzip.headers['content-encoding'], gunzipSync(gzip.rawPayload).equals(plain.rawPayload)]).toEqual([
    'gzip',
    true,
  ])
  expect(gzip.headers.vary).toBe('accept-encoding')
  expect(gzip.headers['cache-control']).toBe('public, max-age=300')
  const again = await get({ 'if-none-match': String(br.headers.etag) })
  expect([again.statusCode, again.rawPayload.length]).toEqual([304, 0])
  expect((await get({ 'if-none-match': '"other"' })).statusCode).toBe(200)
})

test('/llms.txt has a line for each operation and event, whose link leads to a part of /docs', async () => {
  const { statusCode, headers, body } = await t.server.fastify.inject({ url: '/llms.txt' })
  expect([statusCode, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(body).toMatch(/^# svc API\n\n> Send email, /)
  expect(body).toContain('- [POST /send](https://svc.example/mail/docs#sendEmail): Send one email')
  const page = await read()
  const ids = [...body.matchAll(/\(https:\/\/svc\.example\/mail\/docs#([\w-]+)\)/g)].map(([, id]) => id!)
  for (const id of ids) expect(page).toContain(`id="${id}"`)
  const operations = [...page.matchAll(/<section class="operation" id="([\w-]+)"/g)].map(([, id]) => id!)
  expect(operations.filter((id) => !id.startsWith('shape-') && !ids.includes(id))).toEqual([])
})
