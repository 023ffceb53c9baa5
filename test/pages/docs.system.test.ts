import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { samplesOf } from '../../src/http/docs.samples.ts'
import { openApiOf } from '../../src/http/openapi.ts'
import { ok, useAccount, useApp } from '../support/app.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'
import { testWith } from '../support/tools.ts'

let url: string

const t = useApp({ env: { SVC_PUBLIC_URL: 'https://svc.example/mail' } })
const account = useAccount(t)
beforeAll(async () => {
  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(t.server.fastify.server.address() as AddressInfo).port}`
})

test('/ names the service and links to the documentation, and mentions the console only in svc dev', async () => {
  const { status, body } = await t.request('GET', '/')
  expect([status, body.includes('href="docs"'), body.includes('Console')]).toEqual([200, true, false])
})

/**
 * Marks the sections in which no element of a new kind occurs, by the classes of the element and of those around it, and returns their
 * selector. The sections of most operations repeat what others have, and axe-core takes 6 s of CPU time for the colors of all of them.
 */
const markRepeats = async (page: Page): Promise<string> => {
  await page.evaluate(`(() => {
    const kindOf = (element) => element && kindOf(element.parentElement) + '>' + element.tagName + '.' + element.className
    const [sections, seen] = [new Set(document.querySelectorAll('section:not(:has(section))')), new Set()]
    for (const element of document.body.querySelectorAll('*')) {
      const kind = kindOf(element)
      if (seen.has(kind) || element.querySelector('section')) continue
      seen.add(kind)
      sections.delete(element.closest('section:not(:has(section))'))
    }
    for (const section of sections) section.dataset.repeats = ''
  })()`)
  return '[data-repeats]'
}

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
    await page.locator('#upsertContacts .try > summary').click()
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
      await page.locator(`#${id} .try > summary`).click()
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
    await expectGoodOnEveryScreen(page, 'docs', { repeats: await markRepeats(page) })
  })

  test('the navigation stands at the side from 1000 px, and marks the section that is read', async () => {
    const page = await openPage({ viewport: { width: 1000, height: 800 } })
    await page.goto(`${url}/docs`)
    const place = async () => page.locator('.side').evaluate((side) => side.getBoundingClientRect().toJSON())
    expect(await place()).toMatchObject({ x: 0, y: 0, height: 800 })
    await page.locator('.side').getByRole('link', { name: 'Create deal' }).click()
    await expect.poll(() => page.locator('.side [aria-current]').innerText()).toMatch(/^Create deal/)
    expect(await place()).toMatchObject({ y: 0, height: 800 })
    await page.setViewportSize({ width: 999, height: 800 })
    expect((await place()).width).toBe(999)
  })

  test('on a small screen the contents are a menu that stays in view', async () => {
    const page = await openPage({ viewport: { width: 320, height: 700 } })
    await page.goto(`${url}/docs`)
    const menu = page.getByRole('button', { name: 'Contents' })
    const link = page.locator('.side').getByRole('link', { name: 'Create deal' })
    expect([await link.isVisible(), await menu.getAttribute('aria-expanded')]).toEqual([false, 'false'])
    await menu.click()
    await link.click()
    expect([await link.isVisible(), await menu.getAttribute('aria-expanded')]).toEqual([false, 'false'])
    const places = await Promise.all(
      ['.side', '#createDeal h3'].map(async (part) => (await page.locator(part).boundingBox())!),
    )
    expect(places[0]!.y).toBe(0)
    expect(places[1]!.y).toBeGreaterThanOrEqual(places[0]!.height)
    await menu.focus()
    await page.keyboard.press('/')
    await page.keyboard.type('trigger')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#triggerJourney')
    expect(await menu.getAttribute('aria-expanded')).toBe('false')
    await menu.click()
    await page.keyboard.press('Escape')
    expect(await menu.getAttribute('aria-expanded')).toBe('false')
    await menu.click()
    await page.getByLabel('Search').fill('')
    // axe-core takes a second of CPU time for them on each screen, though only the menu is checked.
    await page.evaluate(`for (const section of [...document.querySelectorAll('section')].slice(9)) section.remove()`)
    expect(await link.isVisible()).toBe(true)
    await expectGoodOnEveryScreen(page, 'docs-menu', { within: '.side' })
  })

  test('request and response stand side by side on a wide screen, and below each other on a small one', async () => {
    const page = await openPage({ viewport: { width: 1200, height: 800 } })
    await page.goto(`${url}/docs`)
    const boxes = async () =>
      Promise.all(
        ['Request', 'Response'].map((title) =>
          page.locator('#createDeal figcaption', { hasText: title }).boundingBox(),
        ),
      )
    const [request, response] = await boxes()
    expect([response!.y, response!.x > request!.x + request!.width]).toEqual([request!.y, true])
    await page.setViewportSize({ width: 320, height: 800 })
    const [above, below] = await boxes()
    expect(below!.y).toBeGreaterThan(above!.y + above!.height)
  })

  test('the search finds operations by property and by path, and Enter goes to the first', async () => {
    const page = await openPage({ viewport: { width: 1200, height: 800 } })
    await page.goto(`${url}/docs`)
    const shown = () => page.locator('.side li a:visible > span:first-child').allInnerTexts()
    await page.keyboard.press('/')
    await page.keyboard.type('contentId')
    expect(await shown()).toEqual(['Send email'])
    await page.getByLabel('Search').fill('/journeys')
    expect(await shown()).toEqual(['List journeys', 'Trigger journey'])
    await page.getByLabel('Search').fill('zebra')
    await page.getByText('Nothing found').waitFor()
    await page.getByLabel('Search').fill('trigger journey')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate('location.hash')).toBe('#triggerJourney')
    expect(faultsOf(page)).toEqual([])
  })

  test('a chosen language is that of all samples, also after a reload', async () => {
    const page = await openPage({ viewport: { width: 1200, height: 800 } })
    await page.goto(`${url}/docs`)
    const sample = page.locator('#createDeal .samples pre:visible')
    expect(await sample.innerText()).toMatch(/^curl https:\/\/svc.example\/mail\/api\/v1\/deals/)
    await page.locator('#sendEmail').getByText('Python', { exact: true }).click()
    expect(await sample.innerText()).toContain('requests.post(')
    await page.reload()
    expect(await sample.innerText()).toContain('requests.post(')
  })

  test('without scripts it is readable, shows each language, and hides the controls that need them', async () => {
    const page = await openPage({ javaScriptEnabled: false })
    await page.goto(`${url}/docs`)
    const samples = page.locator('#createDeal .samples')
    expect(await samples.innerText()).toContain('Annual plan, 25 seats')
    await samples.getByText('TypeScript', { exact: true }).click()
    expect(await samples.innerText()).toContain("svc.post('/deals', {")
    expect(await page.getByRole('button').count()).toBe(0)
    expect(await page.locator('#key').isVisible()).toBe(false)
    expect(await page.locator('#search').isVisible()).toBe(false)
  })
})

const run = promisify(execFile)

/** Returns the samples of each operation in a language. */
const samplesIn = async (language: string): Promise<[id: string, code: string][]> => {
  const document = openApiOf(await loadRoutes(), url)
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string] => [
      operation.operationId,
      samplesOf(url, { ...operation, method, path })[language as 'curl'],
    ]),
  )
}

test('the samples in curl reach their routes, and those in TypeScript compile', async () => {
  const calls = await samplesIn('curl')
  expect(calls.length).toBeGreaterThan(30)
  for (const [id, code] of calls) {
    const env = { PATH: process.env.PATH, SVC_API_KEY: account.key }
    const { stdout } = await run('bash', ['-c', `${code} -s -w '\\n%{http_code}'`], { env })
    const [body, status] = stdout.split(/\n(?=\d+$)/)
    // Ids of samples do not exist, and the account sends no email.
    expect([id, status, body]).toEqual([
      id,
      expect.stringMatching(/^(200|201|400|403|404|409)$/),
      expect.stringMatching(/^\{/),
    ])
    if (status === '400') expect([id, body]).toEqual([id, expect.stringMatching(/sender|sending/)])
  }
  const root = join(import.meta.dirname, '../..')
  await mkdir(join(root, '.vitest'), { recursive: true })
  const folder = await mkdtemp(join(root, '.vitest/samples-'))
  try {
    for (const [id, code] of await samplesIn('TypeScript'))
      await writeFile(
        join(folder, `${id}.ts`),
        `${code.replace('svcd-engagement-client', '../../src/client/client.ts')}\nexport { result }\n`,
      )
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }),
    )
    const compiled = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
      (thrown) => thrown,
    )
    expect(compiled.stdout).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
})

testWith('python3', 'the samples in Python are valid', async (python3) => {
  const samples = await samplesIn('Python')
  const parse = 'import ast, json, sys; print([id for id, code in json.loads(sys.argv[1]) if not ast.parse(code).body])'
  expect(python3('-c', parse, JSON.stringify(samples)).trim()).toBe('[]')
})
