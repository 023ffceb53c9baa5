import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { setBinding } from '../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { remindDue } from '../../src/webinars/reminders/reminders.due.ts'
import { endWebinar, listAttendees, setCover, startWebinar, updateWebinar } from '../../src/webinars/webinars.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'
import {
  describePages,
  expectGoodOnEveryScreen,
  expectNothingFromElsewhere,
  faultsOf,
  requestsOf,
} from '../support/pages.ts'
import { hour, mailsOf, makeWebinar, register } from '../webinars/support.ts'

let t: TestApp
let origin: string
let account: TestAccount
let page: Page

describePages('the join page', (openPage) => {
  beforeAll(async () => {
    t = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
    origin = await t.server.fastify.listen({ host: '127.0.0.1', port: 0 })
  })
  beforeEach(async () => {
    account = await sendingAccount(t)
  })
  afterEach(() => page.context().close())
  afterAll(() => t.close())

  const open = async (path: string, options: object = {}) => {
    page = await openPage({ timezoneId: 'America/New_York', ...options })
    await page.goto(origin + path)
  }
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const prepare = async (more: object = {}) => {
    const scheduledAt = t.app.now().getTime() + 26 * hour
    const title = 'Growing <b>tomatoes</b> & Krautwickelrezepturenweiterentwicklungsgesellschaft'
    const { id } = await makeWebinar(t, account, {
      title,
      scheduledAt,
      streamUrl: 'https://stream.example/a?b=1&c=2',
      ...more,
    })
    const { joinUrl } = (await register(t, account, id, 'ada@people.example')).body
    return { id, scheduledAt, path: joinUrl === null ? '' : new URL(joinUrl!).pathname }
  }
  const says = (text: string | RegExp) => page.getByText(text).first().waitFor()

  test('shows the title, the time in UTC and the visitor’s zone and a countdown, and can be cancelled by keyboard', async () => {
    const { path, scheduledAt } = await prepare()
    await open(path)
    expect(await page.locator('h1').textContent()).toContain('Growing <b>tomatoes</b>')
    expect(await page.locator('time').getAttribute('datetime')).toBe(new Date(scheduledAt).toISOString())
    const inNewYork = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'America/New_York' })
    await says(/your time \(America\/New York\)$/)
    expect(await page.locator('#local').textContent()).toContain(inNewYork.format(scheduledAt))
    const count = page.getByRole('timer', { name: /^Starts in 1 day/ })
    expect(await count.textContent()).toMatch(/^1 day 0[12]:[0-5]\d:[0-5]\d$/)
    const first = await count.textContent()
    await expect.poll(() => count.textContent()).not.toBe(first)
    await expectGoodOnEveryScreen(page, 'join-scheduled')
    expect(await page.content()).not.toContain('stream.example')
    const file = await page.request.get(`${origin}${path}/calendar.ics`)
    expect(file.headers()['content-type']).toBe('text/calendar; charset=utf-8; method=PUBLISH')
    expect(await file.text()).toContain(`DTSTART:${new Date(scheduledAt).toISOString().replace(/[-:]|\.\d+/g, '')}`)

    await page.getByRole('link', { name: 'Cancel my registration' }).press('Enter')
    await says('Cancel your registration?')
    await expectGoodOnEveryScreen(page, 'join-cancel')
    await page.getByRole('link', { name: 'Keep my seat' }).click()
    await says('You have a seat')
    await page.getByRole('link', { name: 'Cancel my registration' }).press('Enter')
    await says('Cancel your registration?')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await says('You cancelled your registration')
    await page.reload()
    await says('You cancelled your registration')
    await expectGoodOnEveryScreen(page, 'join-cancelled')
    // Chromium requests a favicon.
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
  })

  test('the page to register leads to thanks with a calendar, and shows one time to visitors in the zone of the host', async () => {
    const { id, scheduledAt } = await prepare({ capacity: 9, description: 'Bring <b>tea</b>.' })
    await work((w) => setCover(w, id, harbourPng))
    await open(`/webinar/${id}`)
    const cover = "document.querySelector('img.cover')"
    expect(await page.evaluate(`${cover}.decode().then(() => ${cover}.naturalWidth)`)).toBeGreaterThan(100)
    await says(/your time \(America\/New York\)$/)
    await page.getByRole('timer', { name: /^Starts in/ }).waitFor()
    await says('5+ seats left')
    await expectGoodOnEveryScreen(page, 'register')
    await page.getByLabel('Email').fill('cyd@people.example')
    await page.getByLabel('Name').fill('Cyd')
    await page.keyboard.press('Enter')
    await says('We have sent you an email')
    await expectGoodOnEveryScreen(page, 'register-thanks')
    const google = await page.getByRole('link', { name: 'Google' }).getAttribute('href')
    const begin = new Date(scheduledAt).toISOString().replace(/[-:]|\.\d+/g, '')
    expect(new URL(google!).searchParams.get('dates')).toMatch(new RegExp(`^${begin}/`))
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
    await page.context().close()
    await open(`/webinar/${id}`, { timezoneId: 'UTC' })
    await page.getByRole('timer').waitFor()
    expect(await page.locator('#local').isVisible()).toBe(false)
  })

  test('embeds a stream on YouTube, and asks no other host', async () => {
    const { id, path } = await prepare({ streamUrl: 'https://youtu.be/dQw4w9WgXcQ' })
    await work((w) => startWebinar(w, id))
    page = await openPage()
    const youtube = 'https://www.youtube-nocookie.com'
    await page.route(`${youtube}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>A stream</title>' }),
    )
    await page.goto(origin + path)
    await expect.poll(() => requestsOf(page)).toContain(`${youtube}/embed/dQw4w9WgXcQ`)
    await expectGoodOnEveryScreen(page, 'join-embedded')
    const others = requestsOf(page).filter((url) => !url.startsWith(origin) && !url.startsWith(youtube))
    expect(others).toEqual([])
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
  })

  test('counts by the server’s clock if the visitor’s is wrong', async () => {
    const { path } = await prepare()
    page = await openPage()
    await page.clock.install({ time: Date.now() - 5 * hour })
    await page.goto(origin + path)
    expect(await page.getByRole('timer').textContent()).toMatch(/^1 day 0[12]:/)
  })

  test('works without scripts: time in UTC, stream once live, cancelling', async () => {
    const { id, path } = await prepare()
    await open(path, { javaScriptEnabled: false })
    await says(/UTC/)
    expect(await page.locator('#count').isVisible()).toBe(false)
    await work((w) => startWebinar(w, id))
    await page.getByRole('link', { name: 'Reload' }).click()
    const stream = page.getByRole('link', { name: 'Watch the stream' })
    expect(await stream.getAttribute('href')).toBe('https://stream.example/a?b=1&c=2')
    await page.getByRole('link', { name: 'Cancel my registration' }).click()
    await page.getByRole('button').click()
    await says('You cancelled your registration')
  })

  test('shows the recording after the end, on every screen', async () => {
    const { id, path } = await prepare()
    await work((w) => updateWebinar(t.app, w, id, { replayUrl: 'https://stream.example/again?a=1&b=2' }))
    await work((w) => startWebinar(w, id))
    await open(path)
    expect(await page.content()).not.toContain('again')
    await work((w) => endWebinar(w, id))
    await page.reload()
    await says('This session has ended')
    const recording = page.getByRole('link', { name: 'Watch the recording' })
    expect(await recording.getAttribute('href')).toBe('https://stream.example/again?a=1&b=2')
    await expectGoodOnEveryScreen(page, 'join-recording')
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
    await page.goto(`${origin}/webinar/${id}`)
    await says('This session has ended')
    await expectGoodOnEveryScreen(page, 'register-ended')
  })

  test('reports who is present: two of three attend, and the third gets the other email', async () => {
    const { id, path } = await prepare({ title: 'Launch' })
    const more = await Promise.all(['bob', 'cyd'].map((name) => register(t, account, id, `${name}@people.example`)))
    const [bob, cyd] = more.map(({ body }) => new URL(body.joinUrl!).pathname)
    for (const event of ['attended', 'missed']) {
      const document = { name: event, theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: event } }] }
      const [project] = await work((w) => applyProjects(w, [document]))
      await work((w) => setBinding(t.app, w, `webinar:${id}`, event, project!.id!))
    }
    const reported = () => page.waitForResponse((answer) => answer.url().endsWith('/presence'))
    const seen = async () =>
      (await work((w) => listAttendees(w, id, { limit: 9 }))).rows.map(({ email }) => email.split('@')[0])
    // Ada waits on the page when the session starts: it reloads at its next report.
    await open(path)
    expect(await (await reported()).json()).toEqual({ status: 'scheduled' })
    await work((w) => startWebinar(w, id))
    expect(await seen()).toEqual([])
    await page.clock.install()
    await page.reload()
    await says('Live now')
    const stream = page.getByRole('link', { name: 'Watch the stream' })
    expect(await stream.getAttribute('target')).toBe('_blank')
    await Promise.all([reported(), page.clock.fastForward(5_000)])
    await Promise.all([reported(), page.clock.fastForward(60_000)])
    expect(await seen()).toEqual(['ada'])
    expectNothingFromElsewhere(page, origin)
    const ada = page
    // Cyd’s browser runs no scripts, and a mail scanner opens the link too.
    page = await openPage({ javaScriptEnabled: false })
    await page.goto(origin + cyd)
    await page.context().close()
    page = await openPage()
    await page.clock.install()
    await page.goto(origin + bob)
    await Promise.all([reported(), page.clock.fastForward(5_000)])
    expect(await seen()).toEqual(['ada', 'bob'])
    const faults = [...faultsOf(ada), ...faultsOf(page)]
    await page.context().close()
    page = ada
    await work((w) => endWebinar(w, id))
    const ended = page.getByText('This session has ended')
    const minuteLater = async () => {
      await page.clock.fastForward(60_000)
      return ended.count()
    }
    await expect.poll(minuteLater).toBe(1)
    // As if the time that late reports have had passed.
    await t.app.sql('update webinar_registrations set remind_at = $2 where webinar_id = $1', [id, t.app.now()])
    const fail = (fault: unknown) => {
      throw fault
    }
    await remindDue(t.app, new AbortController().signal, fail, new Set())
    const mails = (await mailsOf(t, account)).filter(({ projectId }) => projectId !== null)
    expect(mails.map(({ email, subject }) => `${email.split('@')[0]} ${subject}`)).toEqual([
      'ada attended',
      'bob attended',
      'cyd missed',
    ])
    expect(faults.filter((fault) => !fault.includes('404'))).toEqual([])
  })

  test('is accessible and fits every screen: live, on the waitlist, ended, and with an invalid token', async () => {
    const { id, path } = await prepare({ capacity: 1 })
    await ok(register(t, account, id, 'bob@people.example'))
    const [, waitlist] = await mailsOf(t, account)
    const waiting = new URL(/Leave the waitlist: (\S+)/.exec(waitlist!.text!)![1]!).pathname
    await open(waiting)
    await says('You are on the waitlist')
    await expectGoodOnEveryScreen(page, 'join-waitlist')
    await work((w) => startWebinar(w, id))
    await page.goto(origin + path)
    await says('Live now')
    await expectGoodOnEveryScreen(page, 'join-live')
    await work((w) => endWebinar(w, id))
    await page.reload()
    await says('This session has ended')
    await expectGoodOnEveryScreen(page, 'join-ended')
    expect(await page.getByRole('link').count()).toBe(0)
    for (const bad of [
      path.slice(0, -1),
      `${path}A`,
      path.replace('.', 'A.'),
      '/join/x',
      `${path.slice(0, -1)}/cancel`,
    ]) {
      const answer = await page.goto(origin + bad)
      expect([bad, answer!.status()]).toEqual([bad, 404])
      await says('This link does not work')
    }
    await expectGoodOnEveryScreen(page, 'join-bad')
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
  })
})

test('a token of another purpose or secret, or of a deleted account, is refused by GET and POST', async () => {
  const app = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
  const owner = await sendingAccount(app)
  const { id } = await makeWebinar(app, owner, {})
  const { joinUrl } = (await register(app, owner, id, 'ada@people.example')).body
  const [registration] = await app.app.sql<{ id: string }>('select id from webinar_registrations')
  const sign = (purpose: 'unsubscribe' | 'join', of: string) =>
    app.app.tokens.sign(purpose, [of, registration!.id], null)
  expect(new URL(joinUrl!).pathname).toBe(`/join/${sign('join', owner.id)}`)
  const other = await app.account()
  for (const token of [sign('unsubscribe', owner.id), sign('join', other.id), sign('join', 'acc_gone')])
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/calendar.ics'],
      ['GET', '/cancel'],
      ['POST', '/cancel'],
      ['POST', '/presence'],
    ] as const)
      expect((await app.request(method, `/join/${token}${path}`)).status).toBe(404)
  expect(await app.app.sql('select status from webinar_registrations')).toEqual([{ status: 'confirmed' }])
  await app.close()
})
