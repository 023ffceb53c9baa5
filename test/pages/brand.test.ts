import { beforeAll, describe, expect, test } from 'vitest'
import { updateAccount } from '../../src/accounts/accounts.ts'
import { loadPages } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { createForm, FormFile } from '../../src/forms/forms.ts'
import { contrastOf } from '../../src/lib/colors.ts'
import { palette } from '../../src/lib/palette.ts'
import { createTopic } from '../../src/suppressions/topics.change.ts'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { ok } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { type EngagedAccount, engagedAccount, sendProject, useEngaged } from '../support/engagement.ts'
import { makeWebinar, register } from '../webinars/support.ts'

/*
 * Every hosted page shows the brand of its account: language, logo, colour, imprint. A page that is added fails the last test until it
 * is visited here.
 */

const { t, sink } = useEngaged({ development: true })
let account: EngagedAccount
/** The URL of each page by its name. */
let urls: Record<string, string>

const brand = {
  brandName: 'Harbour & Sons',
  logo: harbourPng,
  // Too light for text on white.
  color: '#facc15',
  postalAddress: 'Harbour & Sons\n1 Quay Street, 20457 Hamburg',
  privacyUrl: 'https://shop.example/privacy',
  timezone: 'Europe/Berlin',
  lang: 'de',
}
const setBrand = (id: string, change: object) =>
  t.app.operate('cli:test', (operation) => updateAccount(operation, id, change))

const hours = Array.from({ length: 7 }, (_, i) => ({ day: i + 1, from: '09:00', to: '17:00' }))
const project = {
  name: 'Everything',
  blocks: [
    { id: 'vote', type: 'vote', props: { question: 'Which?', options: ['This', 'That'] } },
    {
      id: 'call',
      type: 'booking',
      props: { title: 'Call', durationMinutes: 60, timezone: 'UTC', availability: hours, days: 7 },
    },
    {
      id: 'pay',
      type: 'checkout',
      props: { title: 'Mugs', items: [{ name: 'Mug', quantity: 1_000, amount: 12.5 }], currency: 'eur' },
    },
  ],
}

const email = 'ada@people.example'
const sign = (purpose: Parameters<typeof t.app.tokens.sign>[0], ...subject: string[]) =>
  t.app.tokens.sign(purpose, [account.id, ...subject], null)

const visit = async (url: string, options: object = {}) => {
  const { statusCode, body, headers } = await t.server.fastify.inject({ url, ...options })
  return { status: statusCode, html: body, headers }
}
const posted = (payload: string) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  payload,
})

/** Returns the order that the answer to the checkout block starts. */
const paymentOf = async (token: string): Promise<string> => {
  const { body } = await ok(
    t.request('POST', `/liveview/${token}/interactions`, { body: { blockId: 'pay', value: {} } }),
  )
  return new URL((body as { redirectUrl: string }).redirectUrl).pathname
}

const bookingOf = async (token: string): Promise<string> => {
  const { body } = await ok(t.request('GET', `/liveview/${token}`))
  const call = (body as unknown as { blocks: { id: string; props: { slots: number[] } }[] }).blocks.find(
    ({ id }) => id === 'call',
  )!
  const value = { startAt: call.props.slots[0]! }
  await ok(t.request('POST', `/liveview/${token}/interactions`, { body: { blockId: 'call', value } }))
  const [{ id } = { id: '' }] = await t.app.sql<{ id: string }>('select id from bookings where account_id = $1', [
    account.id,
  ])
  return `/b/${sign('booking', id)}`
}

beforeAll(async () => {
  account = await engagedAccount(t, project)
  await setBrand(account.id, brand)
  const mail = await sendProject(t, sink, account)
  const list = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'News' }))
  const form = await t.app.work(account.id, 'cli:test', (work) =>
    createForm(
      work,
      FormFile.parse({
        name: 'News',
        listId: list.id,
        doubleOptIn: true,
        fields: [{ name: 'first_name', required: true }],
      }),
    ),
  )
  await visit(`/f/${form.id}`, posted(`email=${encodeURIComponent('bob@people.example')}&first_name=Bob`))
  const [confirmation] = (await mailsOf(t, account)).filter(({ subject }) => subject.startsWith('Please confirm'))
  const webinar = await makeWebinar(t, account, { title: 'Tour', capacity: 1, scheduledAt: Date.now() + 9e8 })
  const { joinUrl } = (await ok(register(t, account, webinar.id, email))).body as { joinUrl: string }
  await register(t, account, webinar.id, 'bob@people.example')
  const waiting = (await mailsOf(t, account)).find(({ subject }) => subject.startsWith('You are on the waitlist'))!
  const knots = await course(t, account, 'Knots', ['Bowline', 'Clove hitch'])
  await claim(t, account, 'harbour')
  await enrol(t, account, knots.id, email)
  const enrolled = (await mailsOf(t, account)).find(({ subject }) => subject.startsWith('You now have access'))!
  const portal = new URL(/https:\S+/.exec(enrolled.text!)![0])
  const signedIn = await visit(`${portal.pathname}${portal.search}`)
  const session = `${portal.pathname}${signedIn.headers.location}`
  const [member] = await t.app.sql<{ id: string }>('select id from members where account_id = $1', [account.id])
  const path = (text: string | null) => new URL(/https:\S+/.exec(text!)![0]).pathname
  const pages = {
    ...{ 'live view': `/v/${mail.token}`, booking: await bookingOf(mail.token), checkout: await paymentOf(mail.token) },
    ...{ form: `/f/${form.id}`, thanks: `/f/${form.id}/thanks`, confirm: path(confirmation!.text) },
    unsubscribe: `/u/${sign('unsubscribe', email, mail.id)}`,
    ...{ webinar: `/webinar/${webinar.id}`, 'webinar thanks': `/webinar/${webinar.id}/thanks` },
    ...{ join: new URL(joinUrl!).pathname, 'cancel a seat': `${new URL(joinUrl!).pathname}/cancel` },
    waitlist: path(waiting.text),
    ...{ course: session, lesson: `${session}&lesson=${knots.lessons[0]}` },
    'signed out': `/harbour/${knots.id}/embed?session=x`,
    'no such course': `/harbour/x/embed?session=${session.split('session=')[1]}`,
    'no such certificate': `/harbour/${knots.id}/certificate/x`,
  }
  for (const lesson of knots.lessons)
    await visit(portal.pathname, posted(`session=${session.split('session=')[1]}&lesson=${lesson}`))
  urls = { ...pages, certificate: certificatePath(portal, sign('certificate', member!.id, knots.id)) }
})

const certificatePath = ({ pathname }: URL, token: string) => pathname.replace(/embed$/, `certificate/${token}`)

const expectBrand = (html: string) => {
  expect(html).toContain('<html lang="de">')
  expect(html).toMatch(/<p class="brand"><img src="\/assets\/acc_\w+\/logo\?v=\w+" alt="Harbour &amp; Sons"><\/p>/)
  expect(html).toContain('<p>Harbour &amp; Sons<br>1 Quay Street, 20457 Hamburg</p>')
  expect(html).toContain('<a href="https://shop.example/privacy" rel="noopener noreferrer">Privacy policy</a>')
  const [, act, onAct, link] = /:root \{ --act: (#\w+); --on-act: (#\w+); --link: (#\w+) \}/.exec(html)!
  expect(contrastOf(act!, onAct!)).toBeGreaterThanOrEqual(4.5)
  expect(contrastOf(link!, palette.light.card)).toBeGreaterThanOrEqual(4.5)
  // Text in the account's colour is a link: a colour that can only be seen may be too light to read.
  expect(html).not.toMatch(/[{;\s]color: var\(--act\)/)
}

test.each([
  ...[
    'live view',
    'booking',
    'checkout',
    'form',
    'thanks',
    'confirm',
    'unsubscribe',
    'webinar',
    'webinar thanks',
    'join',
  ],
  ...['cancel a seat', 'waitlist', 'course', 'lesson', 'certificate'],
])('the page has the brand of its account: %s', async (name) => {
  const { status, html } = await visit(urls[name]!)
  expect([name, status]).toEqual([name, 200])
  expectBrand(html)
})

test.each(['signed out', 'no such course', 'no such certificate'])('an error has it, too: %s', async (name) => {
  const { status, html } = await visit(urls[name]!)
  expect(status).toBe(404)
  expect(html).toContain('<p class="code">404</p>')
  expectBrand(html)
})

test('a certificate is issued under the name of the brand', async () => {
  expect((await visit(urls.certificate!)).html).toContain('<dd><bdi>Harbour &amp; Sons</bdi></dd>')
})

test('a refused form and a form that is too large have it', async () => {
  const refused = await visit(urls.form!, posted('email=none'))
  expect(refused.status).toBe(400)
  expectBrand(refused.html)
  const large = await visit(urls.form!, posted(`email=a&first_name=${'x'.repeat(200_000)}`))
  expect(large.status).toBe(413)
  expectBrand(large.html)
})

test('preferences with topics have it', async () => {
  await t.app.work(account.id, 'cli:test', (work) => createTopic(work, { name: 'Offers', description: '' }))
  const { html } = await visit(urls.unsubscribe!)
  expect(html).toContain('Offers')
  expectBrand(html)
})

test('an address below the slug that no page has shows it; one below no slug shows none', async () => {
  const asked = { headers: { accept: 'text/html' } }
  for (const path of ['/harbour', '/harbour/nothing?x=1', '/harbour/nothing/at/all']) {
    const { status, html } = await visit(path, asked)
    expect([path, status]).toEqual([path, 404])
    expectBrand(html)
  }
  expect(await visit('/haven/nothing', asked)).toMatchObject({
    status: 404,
    html: expect.not.stringContaining('brand'),
  })
})

test('a failure that names no account shows none', async () => {
  for (const url of ['/v/x', '/u/x', '/f/frm_x', '/webinar/web_x', '/nobody/x/embed']) {
    const { status, html } = await visit(url)
    expect([url, status]).toEqual([url, 404])
    expect(html).toContain('<html lang="en">')
    expect(html).not.toMatch(/class="brand"|imprint/)
  }
})

describe('numbers are in the language of the account', () => {
  const textOf = async (name: string) => (await visit(urls[name]!)).html.replace(/[\u00a0\u202f]/g, ' ')

  test('amounts and counts', async () => {
    for (const name of ['live view', 'checkout']) {
      const html = await textOf(name)
      expect(html).toContain('1.000 × Mug')
      expect(html).toContain('12.500,00 €')
    }
    expect(await textOf('course')).toContain('2 of 2 lessons finished')
  })

  test('with its digits; without a language they are English', async () => {
    await setBrand(account.id, { lang: 'ar-EG' })
    expect(await textOf('course')).toContain('٢ of ٢ lessons finished')
    expect(await textOf('lesson')).toContain('Lesson ١ of ٢')
    expect(await textOf('live view')).toContain('٦٠ minutes, UTC')
    await setBrand(account.id, { lang: null })
    expect(await textOf('live view')).toContain('1,000 × Mug')
    expect(await textOf('checkout')).toContain('€12,500.00')
    await setBrand(account.id, { lang: 'de' })
  })
})

test('every page that people see is visited above', async () => {
  const shown = (await loadPages()).filter(({ method, path }) => {
    // The root belongs to the installation; the others are pictures, redirects and calendar files.
    const isOther = path === '/' || /^\/(?:assets|t)\/|\.ics$/.test(path)
    return method === 'GET' && !isOther
  })
  const matches = (path: string, url: string) =>
    new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(new URL(url, 'https://x.example').pathname)
  const unvisited = shown.filter(({ path }) => !Object.values(urls).some((url) => matches(path, url)))
  expect(unvisited.map(({ path }) => path)).toEqual([])
})
