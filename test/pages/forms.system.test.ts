import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FormBench, type FormsApp, formBench, startForms } from '../forms/support.ts'
import { eventually } from '../support/eventually.ts'
import { startMail } from '../support/messages.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: FormsApp
let sink: Sink
let mail: { stop(): Promise<void> }
let bench: FormBench
let origin: string

const fields = [
  { name: 'first_name', required: true },
  { name: 'plan', type: 'select', options: ['Small', 'Large'] },
  { name: 'age', type: 'number' },
  { name: 'about', type: 'textarea', label: 'About you' },
  { name: 'terms', type: 'checkbox', required: true, label: 'I agree to the terms' },
]

describePages('a signup form', (openPage) => {
  beforeAll(async () => {
    sink = await openSink()
    t = await startForms({ env: { SVC_SMTP_URL: sink.url } })
    origin = await t.server.fastify.listen({ host: '127.0.0.1', port: 0 })
    mail = startMail(t.app)
  })
  beforeEach(async () => {
    bench = await formBench(t)
  })
  afterAll(async () => {
    await mail?.stop()
    await t?.close()
    await sink?.close()
  })

  test('with double opt-in, without scripts: errors keep the entered values, the link confirms, and the lead is new', async () => {
    const { id } = await bench.form({ name: 'Newsletter', doubleOptIn: true, fields })
    const page = await openPage({ javaScriptEnabled: false })
    await page.goto(`${origin}/f/${id}`)
    await page.getByLabel('Email').fill('ada@acme.test')
    await page.getByLabel('First name').fill('Ada')
    await page.getByLabel('plan').selectOption('Large')
    await page.getByLabel('age').fill('old')
    await page.getByLabel('About you').fill('\n<b>\nx')
    await page.getByLabel('I agree').check()
    await page.getByRole('button', { name: 'Sign up' }).click()
    expect(await page.getByRole('alert').textContent()).toContain('Age must be a number')
    expect(await page.getByLabel('First name').inputValue()).toBe('Ada')
    expect(await page.getByLabel('plan').inputValue()).toBe('Large')
    expect(await page.getByLabel('About you').inputValue()).toBe('\n<b>\nx')
    expect(await page.getByLabel('I agree').isChecked()).toBe(true)
    expect(await bench.contact()).toBeUndefined()

    await page.getByLabel('age').fill('36')
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/f/${id}/thanks`)
    expect(await bench.contact()).toMatchObject({ status: 'pending', fields: { about: '<b>\nx', terms: 'true' } })
    expect(await bench.types()).not.toContain('lead.new')

    const subject = 'Please confirm: Newsletter'
    const sunk = await eventually(() => sink.mails.find((one) => one.header('subject') === subject))
    expect([sunk.to, sunk.header('from')]).toEqual([['ada@acme.test'], expect.stringContaining('hello@shop.example')])
    await page.goto(origin + (await bench.link()))
    expect((await bench.contact()).status).toBe('pending')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'You are signed up' }).waitFor()
    expect((await bench.contact()).status).toBe('active')
    expect((await bench.events())['lead.new'].contact).toEqual(await bench.contact())
    expectNothingFromElsewhere(page, origin)
    // The page with errors is a 400, and Chromium requests an icon.
    expect(faultsOf(page).filter((fault) => !fault.startsWith('Failed to load resource'))).toEqual([])
  })

  test('a contact that unsubscribed signs up again: the new link, not the form, ends the unsubscription', async () => {
    const email = 'back@acme.test'
    const suppressions = () =>
      t.app.sql('select reason from suppressions where account_id = $1 and email = $2', [bench.account.id, email])
    const { id } = await bench.form({ name: 'Back', doubleOptIn: true })
    const page = await openPage()
    const signUp = async () => {
      const before = sink.mails.length
      await page.goto(`${origin}/f/${id}`)
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('First name').fill('Ada')
      await page.getByRole('button', { name: 'Sign up' }).click()
      await page.getByRole('heading', { name: 'One more step' }).waitFor()
      await sink.arrived(before + 1)
      await page.goto(origin + (await bench.link()))
    }
    const confirm = async () => {
      await page.getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('heading', { name: 'You are signed up' }).waitFor()
    }
    await signUp()
    await confirm()
    await page.goto(`${origin}/u/${t.app.tokens.sign('unsubscribe', [bench.account.id, email], null)}`)
    await page.getByRole('button').click()
    await expect.poll(suppressions).toEqual([{ reason: 'unsubscribed' }])
    // The cooldown of five minutes does not apply, because the first link was used.
    await signUp()
    expect(await suppressions()).toEqual([{ reason: 'unsubscribed' }])
    await confirm()
    expect([await suppressions(), (await bench.contact(email)).status]).toEqual([[], 'active'])
    await page.close()
  })

  test('the form fits every screen and works by keyboard; the honeypot is not reachable', async () => {
    const { id } = await bench.form({ doubleOptIn: true, fields })
    const page = await openPage()
    await page.goto(`${origin}/f/${id}`)
    await expectGoodOnEveryScreen(page, 'form')
    const stops: string[] = []
    for (let i = 0; i < 7; i++) {
      await page.keyboard.press('Tab')
      stops.push(await page.evaluate<string>('document.activeElement.name || document.activeElement.type'))
    }
    expect(stops).toEqual(['email', 'first_name', 'plan', 'age', 'about', 'terms', 'submit'])
    await page.evaluate(`document.querySelector('form').noValidate = true`)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('alert').getByRole('link', { name: 'First name is required' }).click()
    expect(await page.evaluate('document.activeElement.name')).toBe('first_name')
    await expectGoodOnEveryScreen(page, 'form-faults')
    expectNothingFromElsewhere(page, origin)
  })

  test('so do all pages after it', async () => {
    const { id } = await bench.form({ doubleOptIn: true, fields })
    const page = await openPage()
    await page.goto(`${origin}/f/${id}`)
    await page.getByLabel('Email').fill('bob@acme.test')
    await page.getByLabel('First name').fill('Bob')
    await page.getByLabel('I agree').check()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await expectGoodOnEveryScreen(page, 'form-thanks')
    await page.goto(origin + (await bench.link()))
    await expectGoodOnEveryScreen(page, 'form-confirm')
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: 'You are signed up' }).waitFor()
    await expectGoodOnEveryScreen(page, 'form-confirmed')
    await page.goto(`${origin}/f/frm_nothing`)
    await expectGoodOnEveryScreen(page, 'form-none')
    expectNothingFromElsewhere(page, origin)
  })

  test('a script on one of the form’s origins may post and read the answer, on another one it may not', async () => {
    const site = createServer((_request, reply) =>
      reply.setHeader('content-type', 'text/html').end('<title>Site</title>'),
    )
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
    const { port } = site.address() as AddressInfo
    const { id } = await bench.form({ name: 'By script', origins: [`http://localhost:${port}`] })
    const post = (
      body: string,
    ) => `fetch('${origin}/f/${id}', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: '${body}' }).then((reply) => reply.json(), (error) => error.name)`
    const submission = '{"email":"eve@acme.test"}'
    const page = await openPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    expect(await page.evaluate(post(submission))).toBe('TypeError')
    expect(await bench.contact('eve@acme.test')).toBeUndefined()
    await page.goto(`http://localhost:${port}/`)
    expect(await page.evaluate(post(submission))).toEqual({ ok: true, status: 'active' })
    expect(await page.evaluate(post('{}'))).toEqual({ error: 'email is required' })
    site.close()
    site.closeAllConnections()
  })
})
