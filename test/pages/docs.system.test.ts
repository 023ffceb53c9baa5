import type { AddressInfo } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { ok, useAccount, useApp } from '../support/app.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'

let url: string

const t = useApp({ env: { SVC_PUBLIC_URL: 'https://svc.example/mail' } })
const account = useAccount(t)
beforeAll(async () => {
  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(t.server.fastify.server.address() as AddressInfo).port}`
})

test('/docs shows every operation and every event, and needs no key', async () => {
  const { status, body, headers } = await t.request('GET', '/docs')
  expect(status).toBe(200)
  expect(headers['content-security-policy']).not.toContain('unsafe')
  const document = (await t.request('GET', '/openapi.json')).body
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId }] of Object.entries(methods)) {
      expect(body).toContain(`<details id="${operationId}">`)
      expect(body).toContain(`data-method="${method}" data-path="${path}"`)
    }
  for (const type of Object.keys(document.webhooks)) expect(body).toContain(`<code>${type}</code>`)
  expect(body).toContain('https://svc.example/mail')
  const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(ids.length).toBe(new Set(ids).size)
  for (const [, target] of body.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
})

test('/ names the service and links to the documentation, and mentions the console only in svc dev', async () => {
  const { status, body } = await t.request('GET', '/')
  expect([status, body.includes('href="docs"'), body.includes('Console')]).toEqual([200, true, false])
})

describePages('/docs in Chromium', (openPage) => {
  test('the first page is accessible, fits every screen and links to the documentation', async () => {
    const page = await openPage()
    await page.goto(`${url}/`)
    await expectGoodOnEveryScreen(page, 'home')
    await page.getByRole('link', { name: 'API documentation' }).click()
    await page.getByRole('heading', { name: 'The API of svc' }).waitFor()
    expect(faultsOf(page)).toEqual([])
  })

  test('a pasted key is checked, and the examples then use ids of its account', async () => {
    const { id, key } = await t.account()
    const list = await t.app.work(id, 'cli:test', (work) => createList(work, { name: 'Customers' }))
    const page = await openPage()
    await page.goto(`${url}/docs`)
    await page.getByLabel('API key').fill(`${key.slice(0, -4)}aaaa`)
    await page.getByText('This key is not valid.').waitFor()
    const body = page.locator('#upsertContacts-body')
    expect(JSON.parse(await body.inputValue()).listId).toBe('lst_…')
    await page.getByLabel('API key').fill(key)
    await page.getByText('This key is valid.').waitFor()
    expect(JSON.parse(await body.inputValue())).toMatchObject({
      listId: list.id,
      email: 'ada.okafor@northwind.example',
    })
    await page.locator('#upsertContacts > summary').click()
    await page.locator('#upsertContacts form').getByRole('button', { name: 'Send' }).click()
    await expect.poll(() => page.locator('#upsertContacts [role=status]').textContent()).toMatch(/^201 in/)
    expect(await page.locator('#deleteWebhook').getByLabel('id').inputValue()).toBe('')
    expectNothingFromElsewhere(page, url)
  })

  test('a pasted key makes a call, to this host only and under a strict policy', async () => {
    const page = await openPage()
    await page.goto(`${url}/docs`)
    await page.getByLabel('API key').fill(account.key)
    const call = async (id: string, fill: (form: ReturnType<typeof page.locator>) => Promise<void>) => {
      await page.locator(`#${id} > summary`).click()
      const form = page.locator(`#${id} form`)
      await fill(form)
      await form.getByRole('button', { name: 'Send' }).click()
      const answer = form.getByRole('status')
      await expect.poll(() => answer.textContent()).toMatch(/^\d{3} in/)
      return (await answer.textContent())!
    }
    const made = await call('createWebhook', async () => {})
    expect(made).toMatch(/^201 in \d+ ms\nx-request-id: req_/)
    expect(made).toContain('"url": "https://example.com/hooks"')
    const { body } = await ok(t.request('GET', '/webhooks', { key: account.key }))
    expect(body.subscriptions).toHaveLength(1)
    expect(await call('findContacts', (form) => form.getByLabel('email').fill('a+b&c@people.example'))).toMatch(
      /"contacts": \[\]/,
    )
    const { id } = body.subscriptions[0]!
    expect(await call('deleteWebhook', (form) => form.getByLabel('id').fill(id))).toMatch(/^200 in/)
    expectNothingFromElsewhere(page, url)
    expect(faultsOf(page)).toEqual([])
    await page.evaluate('scrollTo(0, 0)')
    await expectGoodOnEveryScreen(page, 'docs')
  })

  test('without scripts it is readable and hides the controls that need them', async () => {
    const page = await openPage({ javaScriptEnabled: false })
    await page.goto(`${url}/docs`)
    await page.locator('#createDeal > summary').click()
    expect(await page.locator('#createDeal').innerText()).toContain('Annual plan, 25 seats')
    expect(await page.getByRole('button').count()).toBe(0)
    expect(await page.locator('#key').isVisible()).toBe(false)
  })
})
