import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { startApp, type TestApp } from '../support/app.ts'

let t: TestApp

beforeAll(async () => {
  t = await startApp()
})
afterAll(() => t.close())

test('/openapi.json describes every route, with its successes and its refusals', async () => {
  const { status, body } = await t.request('GET', '/openapi.json')
  expect(status).toBe(200)
  expect(body.openapi).toBe('3.1.0')
  const routes = await loadRoutes()
  expect(routes.length).toBeGreaterThan(5)
  for (const route of routes) {
    const operation = body.paths[`/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`]?.[route.method.toLowerCase()]
    expect(operation, `${route.method} ${route.path}`).toBeDefined()
    expect(Object.keys(operation.responses)).toEqual(
      expect.arrayContaining([
        ...Object.keys(route.answers),
        ...(route.isOpen ? [] : ['400', '401', '429']),
        ...(route.refusals ?? []).map(String),
      ]),
    )
    expect(operation.security).toEqual(route.isOpen ? [] : [{ apiKey: [] }])
  }
})

test('the document says the bounds that validate', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  const contacts = JSON.stringify(body.paths['/api/v1/contacts'].post.requestBody)
  expect(contacts).toContain('"maxItems":500')
  const webhooks = JSON.stringify(body.paths['/api/v1/webhooks'].post.requestBody)
  expect(webhooks).toContain('deal.stage_changed')
})
