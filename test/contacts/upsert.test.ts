import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'

let dns: DnsServer
let app: TestApp
beforeAll(async () => {
  dns = await openDnsServer()
  dns.set('acme.test', { MX: [[10, 'mx.acme.test']] })
  app = await startApp({ env: { SVC_DNS_SERVERS: dns.address } })
})
afterAll(async () => {
  await app.close()
  await dns.close()
})
test('smoke', async () => {
  const a = await app.account()
  const { createList } = await import('../../src/contacts/contacts.ts')
  const list = await app.app.work(a.id, 'cli:t', (w) => createList(w, { name: 'L' }))
  console.log(
    await app
      .request('POST', '/contacts', {
        key: a.key,
        body: { listId: list.id, email: ' Ada@Acme.test', fields: { b: 1, a: true, n: null, o: {} } },
      })
      .then((r) => [r.status, r.body]),
  )
  console.log(
    await app
      .request('POST', '/contacts', {
        key: a.key,
        body: { listId: list.id, email: 'ada@acme.test', fields: { b: '1' } },
      })
      .then((r) => [r.status, r.body]),
  )
  console.log(
    await app
      .request('POST', '/contacts', {
        key: a.key,
        body: {
          listId: list.id,
          contacts: [
            { email: 'x@acme.test', z: 1 },
            { email: 'ada@acme.test', b: 2 },
          ],
        },
      })
      .then((r) => [r.status, r.body]),
  )
  console.log(
    await app
      .request('GET', '/contacts?email=ada@acme.test', { key: a.key })
      .then((r) => [r.status, JSON.stringify(r.body)]),
  )
  console.log(await app.request('GET', '/lists', { key: a.key }).then((r) => [r.status, JSON.stringify(r.body)]))
  for (const body of [
    {},
    { listId: 1 },
    { listId: list.id, contacts: [] },
    { listId: list.id, contacts: [{ email: 'a@b.c' }, {}] },
    { listId: list.id, contacts: null },
    [],
    { listId: list.id, email: 5 },
    { listId: list.id, email: '' },
    { listId: list.id, email: 'x@y.z', fields: [] },
    { listId: list.id, email: 'x@y.z', fields: { a: 'x\0' } },
    { listId: list.id, email: 'x@y.z', fields: { ' ': 'x' } },
    { listId: list.id, contacts: [{ email: 'x@y.z', big: 'x'.repeat(10001) }] },
  ])
    console.log(
      JSON.stringify(body).slice(0, 60),
      await app.request('POST', '/contacts', { key: a.key, body }).then((r) => [r.status, r.body]),
    )
})
