/*
 * Takes screenshots of every kind of page and email, at 320 and 1200 px, light and dark, for review:
 * node test/pages/screenshots.ts <folder>
 *
 * Those of docs/images are beside them: readme-console.png, readme-email.png and readme-board.svg. Their font is Inter (the Debian package
 * fonts-inter), so that they look the same wherever they are made. Reduce the PNG files before you commit them:
 * pngquant --force --strip --output docs/images/console.png <folder>/readme-console.png
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium, type Page } from 'playwright-core'
import PostalMime from 'postal-mime'
import { document, failurePage } from '../../src/pages/page.ts'
import { caughtIds, readCaught } from '../../src/tools/catcher/catcher.ts'
import { startDevelopment } from '../../src/tools/dev/dev.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { executablePath, launchOptions, screens } from '../support/screens.ts'
import { pictureTerminal } from './terminal-picture.ts'

const root = join(import.meta.dirname, '../..')
const [folder] = process.argv.slice(2)
if (!folder) {
  process.stderr.write('usage: node test/pages/screenshots.ts <folder>\n')
  process.exit(2)
}

/** Pages ask for the font of the system. */
const fontConfig = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd"><fontconfig>
<include>/etc/fonts/fonts.conf</include>
${['system-ui', 'sans-serif']
  .map(
    (name) => `<match target="pattern"><test name="family"><string>${name}</string></test>
<edit name="family" mode="assign" binding="strong"><string>Inter</string></edit></match>`,
  )
  .join('\n')}
</fontconfig>
`

const dataDir = await mkdtemp(join(tmpdir(), 'svc-screenshots-'))
const port = String(20_000 + Math.floor(Math.random() * 20_000))
const env = { ...process.env, SVC_DATA_DIR: dataDir, SVC_PORT: port, SVC_LOG_LEVEL: 'fatal', SVC_ACCOUNT: 'demo' }
const dev = await startDevelopment(env)

/** A command's JSON. */
const svc = async (...args: string[]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'bin/svc.ts'), ...args, '--json'], { env })
  return JSON.parse(stdout)
}

const call = async (method: string, path: string, body: object) => {
  const headers = { authorization: `Bearer ${dev.key}`, 'content-type': 'application/json' }
  const reply = await fetch(`${dev.url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) })
  const answer = await reply.json()
  if (!reply.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
  return answer
}

/** The newest caught email whose subject matches, with its links. */
const mailOf = async (subject: RegExp) => {
  for (let tries = 0; tries < 100; tries++) {
    for (const id of caughtIds(dataDir).reverse()) {
      const mail = await PostalMime.parse(readCaught(dataDir, id)!.raw)
      if (!subject.test(mail.subject ?? '')) continue
      const html = mail.html ?? ''
      const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, url]) => url!.replaceAll('&amp;', '&'))
      const link = (part: string) => {
        const found = links.find((url) => url.includes(part))
        if (!found) throw new Error(`The email ${mail.subject} has no link with ${part}`)
        return found
      }
      return { html, link }
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`No email arrived with the subject ${subject}`)
}

const picture = async (page: Page, name: string, fullPage = true): Promise<void> => {
  for (const { width, colorScheme } of screens) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage })
  }
}

const pictureMail = async (page: Page, name: string, html: string): Promise<void> => {
  // The policy of the page before would refuse the email's styles.
  await page.goto('about:blank')
  await page.setContent(html, { waitUntil: 'load' })
  await picture(page, name)
}

/** Deals for the board, with what each is worth in its stage. */
const deals = [
  ['Annual plan, 25 seats', 'New', 'mei.tanaka', 12_500],
  ['Pilot for two sites', 'New', 'zofia.nowak', 1800],
  ['Starter plan', 'New', 'amara.diallo', 480],
  ['Renewal 2027', 'Qualified', 'jonas.lindqvist', 8400],
  ['Workshop series', 'Qualified', 'rafael.costa', 3200],
  ['Printing contract', 'Proposal', 'zofia.nowak', 21_000],
  ['Studio plan', 'Won', 'mei.tanaka', 5600],
  ['Harbour tour, 40 seats', 'Won', 'amara.diallo', 2400],
] as const

const pictureBoard = async (): Promise<void> => {
  for (const [title, stage, mailbox, value] of deals)
    await svc(
      ...['deals', 'create', '--title', title, '--stage', stage, '--value', String(value)],
      ...['--email', `${mailbox}@sample.example`],
    )
  const drawing = {
    command: `${process.execPath} ${join(root, 'bin/svc.ts')} deals board`,
    title: 'svc deals board',
    keys: ['Right', 'Down'],
    shows: /Harbour tour[\s\S]*q quit/,
    columns: 104,
    rows: 18,
  }
  await pictureTerminal(join(folder, 'readme-board.svg'), dataDir, drawing, env)
}

/** The console after all the above, and the upper part of an email. */
const pictureReadme = async (page: Page, email: string): Promise<void> => {
  const shoot = (name: string) => page.screenshot({ path: join(folder, `readme-${name}.png`) })
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1000, height: 640 })
  await page.goto(`${dev.consoleUrl}/?q=ada@example.com`)
  await shoot('console')
  await page.setViewportSize({ width: 660, height: 900 })
  await page.goto('about:blank')
  await page.setContent(email, { waitUntil: 'load' })
  await shoot('email')
}

const pictureConsole = async (page: Page): Promise<void> => {
  const newest = caughtIds(dataDir).at(-1)
  for (const [name, path] of [
    ['all', '/'],
    ['mail', '/mail'],
    ['mail-phone', `/mail/${newest}?width=phone`],
    ['mail-links', `/mail/${newest}?show=links`],
    ['webhooks', '/webhooks'],
    ['calls', '/calls'],
  ] as const) {
    await page.goto(dev.consoleUrl + path)
    if (name === 'calls' || name === 'webhooks') await page.locator('summary').first().click()
    await picture(page, `console-${name}`, false)
  }
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Further states of pages, and pages of an account with a brand. */
const takeFurther = async (page: Page, scripted: Page, go: (url: string, name: string) => Promise<void>) => {
  const topics = [
    ['News', 'What is new, once a month'],
    ['Invitations', 'To our webinars and evenings at the harbour'],
  ] as const
  const created = []
  for (const [name, description] of topics)
    created.push(await svc('topics', 'create', '--name', name, '--description', description))
  const [{ id: projectId }] = (await svc('projects', 'list')).projects
  const onNews = { type: 'marketing', topicId: created[0].id, subject: 'On a topic' }
  await call('POST', '/send', { to: 'fay@example.com', projectId, ...onNews })
  const onTopic = await mailOf(/^On a topic/)
  await go(onTopic.link('/u/'), 'preferences')
  await press(page, 'Save my choices')
  await picture(page, 'preferences-saved')

  await call('POST', '/send', { to: 'gil@example.com', projectId, subject: 'Second', mergeData: { name: 'Gil' } })
  const second = await mailOf(/^Second/)
  await scripted.goto(second.link('block=knots'))
  await press(scripted, '1.852 km/h')
  await scripted.getByText('Right!').waitFor()
  await picture(scripted, 'liveview-quiz-right', false)
  await scripted.goto(second.link('block=stars'))
  await picture(scripted, 'liveview-rating', false)

  const about =
    'Forty minutes through the harbour, then your questions.\n\nWe show how ships are unloaded, and who decides where.'
  const tour = await svc('webinars', 'create', '--title', 'A tour of the harbour', '--at', '3d', '--description', about)
  await scripted.goto(`${dev.url}/webinar/${tour.id}`)
  await picture(scripted, 'webinar-described')
  await call('POST', `/webinars/${tour.id}/register`, { email: 'hal@example.com', name: 'Hal' })
  const seat = await mailOf(/registered: A tour/)
  await svc('webinars', 'start', tour.id, '--stream', 'https://www.youtube.com/watch?v=aqz-KE-bpKQ')
  await go(seat.link('/join/'), 'join-live-embedded')
  await go(`/webinar/${tour.id}`, 'webinar-live')
  await svc('webinars', 'end', tour.id, '--yes')
  await go(seat.link('/join/'), 'join-ended')
  await go(`/webinar/${tour.id}`, 'webinar-ended')

  await go('/harbour/nothing', 'unknown-of-account')
  await page.setContent(document(failurePage(500, 'Something went wrong', 'Please try again in a moment.')))
  await picture(page, 'error-500')
  await page.setContent(document(failurePage(410, 'This page has moved', 'Please ask its owner for the new address.')))
  await picture(page, 'error-410')

  const logo = join(dataDir, 'logo.png')
  await writeFile(logo, harbourPng)
  const brand = ['--brand-name', 'Harbour & Sons', '--color', '#0f766e', '--timezone', 'Europe/Berlin']
  const imprint = [
    '--postal-address',
    'Harbour & Sons\n1 Quay Street, 20457 Hamburg',
    '--privacy-url',
    'https://harbour.example/privacy',
  ]
  await svc('accounts', 'update', 'demo', ...brand, ...imprint)
  const next = await svc(
    'webinars',
    'create',
    '--title',
    'What the harbour of the year 2040 needs from us today, and why',
    '--at',
    '9d',
    '--description',
    about,
    '--cover',
    logo,
  )
  await scripted.goto(`${dev.url}/webinar/${next.id}`)
  await picture(scripted, 'brand-webinar')
  const [form] = (await svc('forms', 'list')).forms
  await go(`/f/${form.id}`, 'brand-form')
  await scripted.goto(`${second.link('/v/').split('?')[0]}?block=call`)
  await picture(scripted, 'brand-liveview-months', false)
  await go('/harbour/nothing', 'brand-unknown')
}

const takeAll = async (browser: Browser): Promise<void> => {
  const page = await browser.newPage({ javaScriptEnabled: false, viewport: { width: 1200, height: 900 } })
  const scripted = await browser.newPage()
  const go = async (url: string, name: string) => {
    await page.goto(new URL(url, dev.url).href)
    await picture(page, name)
  }

  await go('/', 'root')
  await go('/nothing/here', 'unknown')
  await scripted.goto(`${dev.url}/docs`)
  await picture(scripted, 'docs', false)
  await scripted.goto(`${dev.url}/docs#sendEmail`)
  await picture(scripted, 'docs-open', false)
  await scripted.setViewportSize({ width: 320, height: 900 })
  await press(scripted, 'Contents')
  await picture(scripted, 'docs-menu', false)
  // The first email loads what sends them.
  await call('POST', '/send', { to: 'first@example.com', subject: 'First', html: 'Hello', text: 'Hello' })
  await call('POST', '/send', {
    to: 'ada@example.com',
    projectId: (await svc('projects', 'list')).projects[0].id,
    type: 'marketing',
    mergeData: { name: 'Ada' },
  })
  const welcome = await mailOf(/^Welcome/)
  await pictureMail(page, 'mail-project', welcome.html)
  const view = welcome.link('/v/')
  await go(view, 'liveview')
  await go(welcome.link('block=colour'), 'liveview-chosen')
  await scripted.goto(`${new URL(view).origin}${new URL(view).pathname}?block=call#call`)
  await picture(scripted, 'liveview-months', false)
  await scripted.getByRole('radio').nth(2).check()
  await picture(scripted, 'liveview-months-chosen', false)
  // The page after an answer.
  await press(page, 'Red')
  await picture(page, 'liveview-answered', false)
  await page.getByLabel('Company').fill(' ')
  await press(page, 'Send')
  await picture(page, 'liveview-refused', false)
  await page.getByLabel('Company').fill('Acme')
  await press(page, 'Send')
  await press(page, '4')
  await press(page, '3.6 km/h')
  await page.locator('.days details[open] input').nth(2).check()
  await page.getByLabel('Your name').fill('Ada')
  await press(page, 'Book')
  await picture(page, 'booking')
  await go(view, 'liveview-booked')
  await press(page, 'Go to checkout')
  await picture(page, 'test-payment')
  await press(page, 'Decline')
  await picture(page, 'liveview-declined', false)
  await press(page, 'Go to checkout')
  await press(page, 'Pay')
  await picture(page, 'liveview-paid', false)
  await go(view, 'liveview-all-answered')
  await go(welcome.link('/u/'), 'unsubscribe')
  await press(page, 'Unsubscribe')
  await picture(page, 'unsubscribed')

  const booked = await mailOf(/^Booked/)
  await pictureMail(page, 'mail-booking', booked.html)
  await go(booked.link('/b/'), 'booking-cancel')
  await press(page, 'Cancel the booking')
  await picture(page, 'booking-cancelled')

  const [form] = (await svc('forms', 'list')).forms
  await go(`/f/${form.id}`, 'form')
  await scripted.goto(form.url)
  await scripted.evaluate("document.querySelector('form').noValidate = true")
  await scripted.getByRole('button', { name: 'Sign up' }).click()
  await picture(scripted, 'form-faults')
  await page.getByLabel('Email').fill('bob@example.com')
  await press(page, 'Sign up')
  await picture(page, 'form-thanks')
  const confirm = await mailOf(/confirm/i)
  await pictureMail(page, 'mail-confirm', confirm.html)
  await go(confirm.link('/f/confirm/'), 'form-confirm')
  await press(page, 'Confirm')
  await picture(page, 'form-confirmed')
  await go('/f/frm_nothing', 'form-none')

  const webinar = await svc('webinars', 'create', '--title', 'Product tour', '--at', '2d', '--capacity', '1')
  await scripted.goto(`${dev.url}/webinar/${webinar.id}`)
  await picture(scripted, 'webinar-register')
  await scripted.goto(`${dev.url}/webinar/${webinar.id}/thanks`)
  await picture(scripted, 'webinar-thanks')
  for (const name of ['Carl', 'Dora'])
    await call('POST', `/webinars/${webinar.id}/register`, { email: `${name.toLowerCase()}@example.com`, name })
  const seat = await mailOf(/^You are registered/)
  await pictureMail(page, 'mail-webinar', seat.html)
  await pictureMail(page, 'mail-waitlist', (await mailOf(/waitlist/)).html)
  await scripted.goto(seat.link('/join/'))
  await picture(scripted, 'join')
  await go(seat.link('/cancel'), 'join-cancel')
  await go((await mailOf(/waitlist/)).link('/w/'), 'waitlist')
  await svc('webinars', 'start', webinar.id, '--stream', 'https://stream.example.com/tour')
  await go(seat.link('/join/'), 'join-live')

  await svc('accounts', 'claim-slug', 'harbour')
  const course = await svc('courses', 'create', '--title', 'Knots', '--publish')
  const lesson =
    '## Make it\n\n1. Make a *loop*.\n2. Pull it **tight**.\n\n> Never undone by itself.\n\n`loop -> up -> down`'
  for (const title of ['The bowline', 'The figure of eight'])
    await svc('courses', 'lessons', 'add', course.id, '--title', title, '--content', lesson)
  await call('POST', `/courses/${course.id}/enroll`, { email: 'eve@example.com' })
  const access = await mailOf(/access/)
  await pictureMail(page, 'mail-course', access.html)
  await go(access.link('/embed'), 'portal')
  await page.getByRole('link', { name: 'The bowline' }).click()
  await picture(page, 'portal-lesson')
  await press(page, 'Finish this lesson')
  await page.getByRole('link', { name: 'The figure of eight' }).click()
  await press(page, 'Finish this lesson')
  await page.getByRole('link', { name: 'Your certificate' }).click()
  await page.getByLabel('Name on the certificate').fill('Eve Laurent')
  await press(page, 'Create my certificate')
  await picture(page, 'portal-completed')
  await go((await mailOf(/You have completed/)).link('/certificate/'), 'certificate')
  await takeFurther(page, scripted, go)
  await pictureConsole(scripted)
  await pictureBoard()
  await pictureReadme(scripted, welcome.html)
}

let browser: Browser | undefined
try {
  await mkdir(folder, { recursive: true })
  // An email is shown on about:blank, where Chromium blocks images from this machine.
  const args = [...launchOptions.args, '--disable-features=LocalNetworkAccessChecks']
  const fonts = join(dataDir, 'fonts.conf')
  await writeFile(fonts, fontConfig)
  browser = await chromium.launch({ executablePath, args, env: { ...process.env, FONTCONFIG_FILE: fonts } })
  await takeAll(browser)
  process.stdout.write(`The pictures are in ${folder}\n`)
} finally {
  await browser?.close()
  await dev.stop()
  await rm(dataDir, { recursive: true, force: true })
}
