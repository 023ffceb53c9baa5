import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { deleteTopic } from '../../src/suppressions/topics.change.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'
import { makeTopic } from '../support/topics.ts'

let t: TestApp
let origin: string
let account: TestAccount
let page: Page
let path: string

const email = 'ada.with-a-long-name@a-long-name-of-a-company.people.example'

describePages('the preference page', (openPage) => {
  beforeAll(async () => {
    t = await startApp()
    origin = await t.server.fastify.listen({ host: '127.0.0.1', port: 0 })
  })
  beforeEach(async () => {
    account = await t.account()
    path = `/u/${t.app.tokens.sign('unsubscribe', [account.id, email, 'msg_1'], null)}`
    await makeTopic(t, account, 'News', 'What is new, once a month')
    await makeTopic(t, account, 'Krautwickelrezepturenweiterentwicklungsgesellschaftsnachrichten', 'x'.repeat(300))
    await makeTopic(t, account, 'A <b>bold</b> & "quoted" name')
  })
  afterEach(() => page.context().close())
  afterAll(() => t.close())

  const open = async (options: object = {}) => {
    page = await openPage(options)
    await page.goto(origin + path)
  }
  const left = async () =>
    (
      await t.app.sql<{ what: string }>(
        `select coalesce(t.name, 'everything') as what from suppressions s left join topics t on t.id = s.topic_id
         where s.account_id = $1 order by what`,
        [account.id],
      )
    ).map(({ what }) => what)
  const says = (text: string) => page.getByText(text).first().waitFor()
  /** Presses Tab until the element has the focus. */
  const tabTo = async (role: 'checkbox' | 'button', name: string) => {
    const wanted = page.getByRole(role, { name, exact: true })
    const focused = wanted.and(page.locator(':focus'))
    for (let i = 0; i < 10 && (await focused.count()) === 0; i++) await page.keyboard.press('Tab')
    expect(await focused.count()).toBe(1)
  }

  test('works with the keyboard only: a topic is left, and everything, and that is undone', async () => {
    await open()
    await expectGoodOnEveryScreen(page, 'preferences')
    await tabTo('checkbox', 'News')
    await page.keyboard.press('Space')
    await page.keyboard.press('Enter')
    await says('Your choices are saved.')
    expect(await left()).toEqual(['News'])
    await expectGoodOnEveryScreen(page, 'preferences-saved')
    expect(await page.getByRole('checkbox', { name: 'News', exact: true }).isChecked()).toBe(false)
    expect(await page.getByRole('checkbox', { name: 'A <b>bold</b> & "quoted" name' }).isChecked()).toBe(true)

    await tabTo('button', 'Unsubscribe from everything')
    await page.keyboard.press('Enter')
    await says('You are unsubscribed')
    expect(await left()).toEqual(['News', 'everything'])
    await expectGoodOnEveryScreen(page, 'preferences-left')
    await tabTo('button', 'Subscribe again')
    await page.keyboard.press('Enter')
    await says('Email preferences')
    expect(await left()).toEqual(['News'])
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
  })

  test('works without scripts, and is read by a screen reader: groups, names, descriptions, what was saved', async () => {
    await open({ javaScriptEnabled: false })
    const group = page.getByRole('group', { name: 'Topics' })
    const box = group.getByRole('checkbox', { name: 'News', exact: true, description: 'What is new, once a month' })
    expect(await box.isChecked()).toBe(true)
    await box.uncheck()
    await page.getByRole('button', { name: 'Save my choices' }).click()
    expect(await page.getByRole('status').textContent()).toBe('Your choices are saved.')
    expect(await page.title()).toBe('Your choices are saved')
    expect(await left()).toEqual(['News'])
    await page.getByLabel('News', { exact: true }).check()
    await page.getByRole('button', { name: 'Save my choices' }).click()
    expect(await left()).toEqual([])
  })

  test('a page that was opened before a topic was deleted still saves, and everything is one button in an account without topics', async () => {
    await open()
    const topics = await t.app.sql<{ id: string }>('select id from topics where account_id = $1', [account.id])
    for (const { id } of topics) await t.app.work(account.id, 'cli:test', (work) => deleteTopic(work, id))
    await page.getByRole('button', { name: 'Save my choices' }).click()
    await says('Unsubscribe?')
    expect(await left()).toEqual([])
    await expectGoodOnEveryScreen(page, 'unsubscribe')
    await page.getByRole('button', { name: 'Unsubscribe', exact: true }).click()
    await says('You are unsubscribed')
    expect(await left()).toEqual(['everything'])
    await page.goto(origin + path)
    await page.getByRole('button', { name: 'Subscribe again' }).click()
    await says('You are subscribed again')
    expect(await left()).toEqual([])
  })
})
