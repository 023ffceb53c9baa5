import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimSlug, updateAccount } from '../../src/accounts/accounts.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { type FormBench, type FormsApp, formBench, startForms } from '../forms/support.ts'
import { describePages, emailScope, expectGoodOnEveryScreen, expectNothingFromElsewhere } from '../support/pages.ts'
import { makeWebinar, register } from '../webinars/support.ts'

let t: FormsApp
let bench: FormBench
let origin: string

const styleOf = (expression: string) => `getComputedStyle(document.querySelector('${expression}'))`

describePages('the brand of an account', (openPage) => {
  beforeAll(async () => {
    t = await startForms()
    origin = await t.server.fastify.listen({ host: '127.0.0.1', port: 0 })
    bench = await formBench(t)
    await t.app.operate('cli:test', (operation) =>
      updateAccount(operation, bench.account.id, {
        brandName: 'Harbour & Sons',
        logo: harbourPng,
        color: '#d4145a',
        postalAddress: 'Harbour & Sons\n1 Quay Street, 20457 Hamburg',
        privacyUrl: 'https://shop.example/privacy',
        timezone: 'Europe/Berlin',
        lang: 'de',
      }),
    )
  })
  afterAll(() => t?.close())

  test('is on a form, with its logo and colour, and nothing is loaded from elsewhere', async () => {
    const fields = [
      { name: 'first_name', required: true },
      { name: 'about', type: 'textarea' },
    ]
    const { id } = await bench.form({ name: 'Newsletter', fields })
    const page = await openPage()
    await page.goto(`${origin}/f/${id}`)
    await page.getByRole('img', { name: 'Harbour & Sons' }).waitFor()
    expect(await page.evaluate(`document.querySelector('.brand img').naturalWidth`)).toBe(1120)
    expect(await page.evaluate(`${styleOf('button')}.backgroundColor`)).toBe('rgb(212, 20, 90)')
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
    await expectGoodOnEveryScreen(page, 'brand-form')
    expectNothingFromElsewhere(page, origin)
    await page.close()
  })

  test('is on the page of an address below its slug that no page has', async () => {
    await t.app.operate('cli:test', (operation) => claimSlug(operation, bench.account.id, 'harbour'))
    const page = await openPage()
    await page.goto(`${origin}/harbour/nothing`)
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    expect(await page.evaluate(`document.querySelector('.brand img').naturalWidth`)).toBe(1120)
    await expectGoodOnEveryScreen(page, 'brand-unknown')
    await page.close()
  })

  test('is on the join page of a webinar, and in its email', async () => {
    const webinar = await makeWebinar(t, bench.account, { title: 'Rundgang', scheduledAt: Date.UTC(2027, 6, 1, 16) })
    await register(t, bench.account, webinar.id, 'ada@acme.test')
    const [mail] = await t.app.sql<{ html: string; text: string }>(
      'select html, text from messages where account_id = $1',
      [bench.account.id],
    )
    expect(mail!.text).toContain('Donnerstag, 1. Juli 2027\n18:00–19:00 Uhr (Europe/Berlin)')
    const [, link] = /Join the session: (\S+)/.exec(mail!.text)!
    const page = await openPage()
    await page.goto(`${origin}${new URL(link!).pathname}`)
    const time = page.locator('time')
    await time.waitFor()
    expect(await time.textContent()).toContain('18:00–19:00 Uhr (Europe/Berlin)')
    expect(await page.locator('.when').textContent()).toContain('Donnerstag, 1. Juli 2027')
    await expectGoodOnEveryScreen(page, 'brand-join')
    await page.close()
    const letter = await openPage()
    await letter.setContent(mail!.html.replaceAll('https://svc.example/assets', `${origin}/assets`))
    await letter.evaluate(`document.querySelector('img').decode()`)
    await expectGoodOnEveryScreen(letter, 'brand-mail', emailScope)
    await letter.close()
  })
})
