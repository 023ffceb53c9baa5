import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { sendingAccount } from '../support/messages.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'

const email = 'ada@people.example'

describePages('the portal', (openPage) => {
  let t: TestApp
  let account: TestAccount
  let courseId: string
  let origin: string
  /** Another site that shows the portal in a frame. */
  let host: Server
  let hostUrl: string
  let framed: string

  beforeAll(async () => {
    t = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
    await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    origin = `http://127.0.0.1:${(t.server.fastify.server.address() as AddressInfo).port}`
    host = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(`<!doctype html><html lang="en"><title>Our bakery</title><link rel="icon" href="data:,"><h1>Our bakery</h1>
        <iframe title="Course" src="${framed}" style="width:100%;height:700px;border:0"></iframe>`)
    })
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
    // Another site for the browser, not only another origin.
    hostUrl = `http://localhost:${(host.address() as AddressInfo).port}/`
    account = await sendingAccount(t)
    const lessons = ['Flour and water', 'A starter that lives', `${'Long'.repeat(30)} <b>titles</b>`]
    courseId = (await course(t, account, 'Sourdough for the patient', lessons)).id
    await course(t, account, 'Rye, and nothing but rye', ['Grain'])
    await claim(t, account, 'bakery')
    await enrol(t, account, courseId, email)
  })
  afterAll(async () => {
    host?.close()
    await t?.close()
  })

  const mint = async (): Promise<string> => {
    const { body } = await t.request('POST', `/courses/${courseId}/embed-token`, { key: account.key, body: { email } })
    const { pathname, search } = new URL(body.portalUrl)
    return `${origin}${pathname}${search}`
  }
  const frameOf = (page: Page): Frame => page.frames().find((frame) => frame !== page.mainFrame())!
  const heading = (frame: Frame, text: string) => frame.getByRole('heading', { level: 1, name: text }).waitFor()

  test('in a frame of another site: lessons are finished one by one, the last one completes the course, a revocation ends access', async () => {
    framed = await mint()
    const page = await openPage()
    await page.goto(hostUrl)
    const frame = frameOf(page)
    await heading(frame, 'Sourdough for the patient')
    expect(await frame.getByText('0 of 3 lessons finished').count()).toBe(1)
    await frame.getByRole('link', { name: 'Flour and water' }).click()
    for (const next of ['A starter that lives', 'LongLong']) {
      await frame.getByRole('button', { name: 'Finish this lesson' }).click()
      await frame.getByText('You have finished this lesson.').waitFor()
      await frame.getByRole('link', { name: next }).click()
    }
    await frame.getByRole('button', { name: 'Finish this lesson' }).click()
    await frame.getByText('You have completed this course.').waitFor()
    const subjects = (await mailsOf(t, account)).map(({ subject }) => subject)
    expect(subjects).toEqual([
      'You now have access to Sourdough for the patient',
      'You have completed Sourdough for the patient',
    ])
    await frame.getByRole('link', { name: 'Sourdough for the patient' }).click()
    await frame.getByText('3 of 3 lessons finished').waitFor()
    const folder = process.env.SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/portal-framed.png`, fullPage: true })
    await frame.getByRole('link', { name: 'Rye, and nothing but rye' }).click()
    await heading(frame, 'Rye, and nothing but rye')

    await enrol(t, account, courseId, email, false)
    await frame.getByRole('link', { name: 'Grain' }).click()
    await heading(frame, 'You no longer have access')
    expect(faultsOf(page).filter((fault) => !fault.includes('403'))).toEqual([])
    await enrol(t, account, courseId, email)
    await page.close()
  })

  test('is accessible and fits every screen: course, lesson and expired sign-in, with only the keyboard', async () => {
    const page = await openPage()
    await page.goto(await mint())
    expect(page.url()).toContain('?session=')
    await expectGoodOnEveryScreen(page, 'portal-course')
    for (let i = 0; i < 2; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'A starter that lives' }).waitFor()
    await expectGoodOnEveryScreen(page, 'portal-lesson')
    const { id, lessons } = await course(t, account, 'New', ['Only'])
    await page.goto(
      page
        .url()
        .replace(courseId, id)
        .replace(/lesson=\w+/, `lesson=${lessons[0]}`),
    )
    await expectGoodOnEveryScreen(page, 'portal-unfinished')
    // The browser requests an icon, and there is none.
    expect(faultsOf(page).filter((fault) => !fault.includes('404'))).toEqual([])
    await page.goto(`${origin}/bakery/${courseId}/embed?token=x`)
    await expectGoodOnEveryScreen(page, 'portal-signed-out')
    expectNothingFromElsewhere(page, origin)
    await page.close()
  })
})
