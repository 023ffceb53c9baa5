import { writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { updateAccount } from '../../src/accounts/accounts.ts'
import { addLesson, updateLesson } from '../../src/courses/courses.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { sendingAccount } from '../support/messages.ts'
import {
  describePages,
  expectGoodOnEveryScreen,
  expectNothingFromElsewhere,
  faultsOf,
  requestsOf,
} from '../support/pages.ts'

const email = 'ada@people.example'

const bowline = `The **bowline** makes a *loop* that does not slip.
Sailors call it the king of knots.

# Make it

1. Make a small loop.
2. Pass the end up through it,
   around the rope and down again.
3. Pull it tight.

### By hand

- hold the loop with \`two fingers\`
- see [a drawing](https://drawings.example/bowline)
  - from above
- try it

> The rabbit comes out of the hole, goes around the tree and back into the hole.

# Check it

\`\`\`
loop -> up -> around -> down
\`\`\`

---

<script>alert(1)</script>
`

describePages('the portal', (openPage) => {
  let t: TestApp
  let account: TestAccount
  let slug: string
  let slugs = 0
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
  })
  beforeEach(async () => {
    account = await sendingAccount(t)
    slug = `bakery-${++slugs}`
    const lessons = ['Flour and water', 'A starter that lives', `${'Long'.repeat(30)} <b>titles</b>`]
    courseId = (await course(t, account, 'Sourdough for the patient', lessons)).id
    await course(t, account, 'Rye, and nothing but rye', ['Grain'])
    await claim(t, account, slug)
    await enrol(t, account, courseId, email)
  })
  afterAll(async () => {
    host?.close()
    await t?.close()
  })

  const mint = async (): Promise<string> => {
    const { body } = await ok(
      t.request('POST', `/courses/${courseId}/embed-token`, { key: account.key, body: { email } }),
    )
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
    await page.close()
  })

  test('is accessible and fits every screen: course, lesson and expired sign-in, with only the keyboard', async () => {
    const page = await openPage()
    await page.goto(await mint())
    expect(page.url()).toContain('?session=')
    await expectGoodOnEveryScreen(page, 'portal-course')
    // Courses of other tests may come first.
    const focused = () => page.evaluate<string>(`document.activeElement?.closest('a')?.textContent ?? ''`)
    for (let i = 0; i < 20 && !(await focused()).includes('A starter that lives'); i++) await page.keyboard.press('Tab')
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
    await page.goto(`${origin}/${slug}/${courseId}/embed?token=x`)
    await expectGoodOnEveryScreen(page, 'portal-signed-out')
    expectNothingFromElsewhere(page, origin)
    await page.close()
  })

  test('a course with Markdown and a video: only its lesson asks another host; who finishes has a certificate that others verify', async () => {
    const { id } = await course(t, account, 'Knots for every day')
    const youtube = 'https://www.youtube-nocookie.com'
    const lessons = [
      { title: 'The bowline', content: bowline, videoUrl: 'https://youtu.be/dQw4w9WgXcQ' },
      { title: 'The clove hitch', content: 'Twice **around**.\nThen under.' },
      { title: 'The figure of eight', content: '> Never undone by itself.\n\n![How](https://pictures.example/8.png)' },
    ]
    for (const lesson of lessons) await t.app.work(account.id, 'cli:test', (work) => addLesson(work, id, lesson))
    const page = await openPage()
    const referrers: (string | undefined)[] = []
    await page.route(`${youtube}/**`, async (route) => {
      referrers.push((await route.request().allHeaders()).referer)
      await route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>A video</title>' })
    })
    await page.goto(await mint())
    await page.getByRole('link', { name: 'Knots for every day' }).click()
    await page.getByRole('link', { name: 'Start the course' }).click()
    await page.getByRole('heading', { level: 1, name: 'The bowline' }).waitFor()
    await expect.poll(() => referrers).toEqual([`${origin}/`])
    expect(await page.locator('.lesson h2, .lesson h3').allTextContents()).toEqual(['Make it', 'By hand', 'Check it'])
    const items = await page.locator('.lesson > ul > li').all()
    const boxes = await Promise.all(items.map((item) => item.boundingBox()))
    const gapAfter = (i: number) => boxes[i + 1]!.y - boxes[i]!.y - boxes[i]!.height
    expect(gapAfter(1)).toBeCloseTo(gapAfter(0), 0)
    await expectGoodOnEveryScreen(page, 'portal-markdown')
    const asked = () => new Set(requestsOf(page).filter((url) => !url.startsWith(origin)))
    expect(asked()).toEqual(new Set([`${youtube}/embed/dQw4w9WgXcQ`]))
    await page.getByRole('button', { name: 'Finish this lesson' }).click()
    await page.getByRole('link', { name: 'Knots for every day' }).click()
    await page.getByText('1 of 3 lessons finished').waitFor()
    await expectGoodOnEveryScreen(page, 'portal-begun')
    await page.getByRole('link', { name: 'Continue with lesson 2' }).click()
    await page.getByRole('button', { name: 'Finish this lesson' }).click()
    await page.getByRole('link', { name: 'The figure of eight' }).click()
    expect(await page.getByRole('link', { name: 'How' }).getAttribute('href')).toBe('https://pictures.example/8.png')
    await page.getByRole('button', { name: 'Finish this lesson' }).click()
    await page.getByText('You have completed this course.').waitFor()
    await page.getByRole('link', { name: 'Your certificate' }).click()
    await page.getByLabel('Name on the certificate').fill('42')
    expect(await page.getByRole('link', { name: 'Open your certificate' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Create my certificate' }).click()
    await page.getByRole('alert').waitFor()
    await expectGoodOnEveryScreen(page, 'portal-name-refused')
    await page.getByLabel('Name on the certificate').fill('Ada Okafor')
    await page.keyboard.press('Enter')
    await page.getByText('The name is saved.').waitFor()
    const path = await page.getByRole('link', { name: 'Open your certificate' }).getAttribute('href')
    const certificate = new URL(path!, page.url()).href
    expect(faultsOf(page).filter((fault) => !fault.includes('400'))).toEqual([])
    expect(asked()).toEqual(new Set([`${youtube}/embed/dQw4w9WgXcQ`]))
    await page.close()

    const reader = await openPage()
    await reader.goto(certificate)
    for (const text of ['Ada Okafor', 'Knots for every day', account.name, 'Valid.'])
      expect(await reader.getByText(text).isVisible()).toBe(true)
    await expectGoodOnEveryScreen(reader, 'certificate')
    expectNothingFromElsewhere(reader, origin)
    expect(faultsOf(reader)).toEqual([])
    const printsOnOnePage = async (name: string) => {
      const printed = await reader.pdf({ preferCSSPageSize: true })
      expect(printed.toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(1)
      const folder = process.env.SCREENSHOTS
      if (folder) await writeFile(`${folder}/${name}.pdf`, printed)
    }
    expect(await reader.getByRole('button', { name: 'Print or save as PDF' }).isVisible()).toBe(true)
    await printsOnOnePage('certificate')
    const postalAddress = ['Harbour & Sons', 'Gate 3', '1 Quay Street', '20457 Hamburg', 'Germany'].join('\n')
    const brand = { brandName: 'Harbour & Sons', logo: harbourPng, postalAddress, privacyUrl: 'https://shop.example/p' }
    await t.app.operate('cli:test', (operation) => updateAccount(operation, account.id, brand))
    await reader.reload()
    await reader.getByRole('img', { name: 'Harbour & Sons' }).waitFor()
    await printsOnOnePage('certificate-brand')
    await expectGoodOnEveryScreen(reader, 'certificate-brand')
    await reader.goto(`${certificate}A`)
    await reader.getByRole('heading', { level: 1, name: 'This certificate is not valid' }).waitFor()
    await reader.close()
  })

  test('the policy of a lesson with a video refuses every other host', async () => {
    const { id, lessons } = await course(t, account, 'Films', ['One'])
    const change = { videoUrl: 'https://videos.example/one.mp4' }
    await t.app.work(account.id, 'cli:test', (work) => updateLesson(work, id, lessons[0]!, change))
    const page = await openPage()
    const asked: string[] = []
    await page.route(/example/, (route) => {
      asked.push(route.request().url())
      return route.abort()
    })
    await page.goto(await mint())
    await page.goto(page.url().replace(courseId, id))
    expect(asked).toEqual([])
    await page.getByRole('link', { name: 'One' }).click()
    await expect.poll(() => asked).toContain(change.videoUrl)
    await expectGoodOnEveryScreen(page, 'portal-file')
    await page.evaluate(`for (const [tag, url] of [['iframe', 'https://www.youtube-nocookie.com/embed/x'], ['video', 'https://a.example/b.mp4'],
      ['img', 'https://a.example/c.png'], ['script', 'https://a.example/d.js']]) {
      document.body.append(Object.assign(document.createElement(tag), { src: url }))
    }`)
    await expect.poll(() => faultsOf(page).filter((fault) => fault.includes('Content Security Policy')).length).toBe(4)
    expect(new Set(asked)).toEqual(new Set([change.videoUrl]))
    await page.close()
  })
})
