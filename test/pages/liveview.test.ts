import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestApp } from '../support/app.ts'
import { type EngagedAccount, type EngagedApp, engagedAccount, startEngaged } from '../support/engagement.ts'
import {
  describePages,
  expectGoodOnEveryScreen,
  expectNothingFromElsewhere,
  faultsOf,
  type OpenPage,
} from '../support/pages.ts'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

let engaged: EngagedApp
let t: TestApp
let origin: string
let account: EngagedAccount
let page: Page

const view = async (query = ''): Promise<string> => {
  const body = { to: 'ada@people.example', projectId: account.projectId, mergeData: { name: 'Ada' } }
  const { body: sent } = await t.request('POST', '/send', { key: account.key, body })
  return `${origin}/v/${t.app.tokens.sign('liveview', [account.id, sent.id], null)}${query}`
}
const interactions = async () =>
  (await t.events(account.id)).filter(({ type }) => type === 'interaction.received').map(({ data }) => data.interaction)

const vote = async () => {
  await page.goto(await view('?block=colour&value=Blue#colour'))
  expect(await page.getByText('You chose Blue').isVisible()).toBe(true)
  expect(await interactions()).toEqual([])
  await page.getByRole('button', { name: 'Blue' }).click()
  await page.getByText('You can still change your answer').first().waitFor()
  expect(await interactions()).toMatchObject([{ kind: 'vote', blockId: 'colour', value: 'Blue' }])
}

const fillForm = async () => {
  await page.getByLabel('Company').fill('Acme')
  await page.getByLabel('How many are you?').selectOption('2 to 10')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Thank you, your answer is in.').waitFor()
  expect((await interactions()).map(({ kind }) => kind).sort()).toEqual(['form', 'vote'])
}

describePages('a live view', (openPage: OpenPage) => {
  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    engaged = await startEngaged({ env: { SVC_PUBLIC_URL: origin } })
    t = engaged.t
    await t.server.fastify.listen({ port, host: '127.0.0.1' })
  })
  beforeEach(async () => {
    account = await engagedAccount(t)
  })
  afterEach(() => page?.close())
  afterAll(() => engaged?.close())

  test('a link of the mail marks its option, a press answers it where it stands, and a form is filled in', async () => {
    page = await openPage()
    await vote()
    await fillForm()
    expect(new URL(page.url()).search).toBe('?block=colour&value=Blue')
    expectNothingFromElsewhere(page, origin)
    expect(faultsOf(page)).toEqual([])
  })

  test('it does the same without scripts', async () => {
    page = await openPage({ javaScriptEnabled: false })
    await vote()
    await fillForm()
    expect(new URL(page.url()).search).toBe('')
  })

  test('it is good on every screen, before and after it is answered', async () => {
    page = await openPage()
    await page.goto(await view())
    await expectGoodOnEveryScreen(page, 'liveview')
    await page.getByRole('button', { name: 'White' }).click()
    await page.getByRole('button', { name: '3.6 km/h' }).click()
    await page.getByText('Not quite.').waitFor()
    await expectGoodOnEveryScreen(page, 'liveview-answered')
    expectNothingFromElsewhere(page, origin)
  })
})
