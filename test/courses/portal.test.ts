import { beforeEach, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { personalData } from '../../src/courses/courses.personal-data.ts'
import { addLesson, createCourse, deleteCourse, publishCourse, updateLesson } from '../../src/courses/courses.ts'
import { ok, type Reply, type TestAccount, useApp } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { testClock } from '../support/journeys.ts'
import { sendingAccount } from '../support/messages.ts'

const email = 'ada@people.example'
const minute = 60_000
const clock = testClock()
let account: TestAccount
let slug: string
let courseId: string
let lessons: string[]
let claimed = 0

const t = useApp({
  env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
  now: clock.now,
})
beforeEach(async () => {
  account = await sendingAccount(t)
  ;({ id: courseId, lessons } = await course(t, account, 'Sourdough', ['Flour', 'Water']))
  slug = `bakery-${++claimed}`
  await claim(t, account, slug)
  await enrol(t, account, courseId, email)
})

const link = async (id = courseId): Promise<string> => {
  const { body } = await ok(t.request('POST', `/courses/${id}/embed-token`, { key: account.key, body: { email } }))
  return body.portalUrl.replace('https://svc.example', '')
}
const get = (path: string) => t.request('GET', path)
/** The URL that a reply redirects to, relative to the portal of a course. */
const led = (reply: Reply, id = courseId) => `/${slug}/${id}/embed${reply.headers.location}`
const open = async (id = courseId) => led(await get(await link(id)), id)
const finish = (session: string, lesson = lessons[0]!, id = courseId) =>
  t.request('POST', `/${slug}/${id}/embed`, {
    body: new URLSearchParams({ session, lesson }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const sessionOf = (path: string) => new URLSearchParams(path.split('?')[1]).get('session')!
const progress = () =>
  t.app.sql('select lesson_id from finished_lessons where account_id = $1 order by 1', [account.id])
const subjects = async () => (await mailsOf(t, account)).map(({ subject }) => subject).sort()
const expectPage = (reply: Reply<string>, status: number, text: string) => {
  expect(reply.status).toBe(status)
  expect(reply.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(reply.body).toContain(text)
}

test('the portal URL signs in and shows the course with its lessons; a reload within its 5 minutes does so again', async () => {
  const portalUrl = await link()
  for (const waited of [0, 4 * minute]) {
    clock.advance(waited)
    const entered = await get(portalUrl)
    expect(entered.status).toBe(302)
    const reply = await get(led(entered))
    expectPage(reply, 200, '<h1>Sourdough</h1>')
    for (const text of ['Flour', 'Water', '0 of 2 lessons finished', `Signed in as ${email}`])
      expect(reply.body).toContain(text)
  }
})

test('it works in an iframe: the page, its redirect and its failures can be framed; nothing is loaded, cached or indexed', async () => {
  const portalUrl = await link()
  const replies = [await get(await open()), await get(`${portalUrl}x`), await get(`/nobody/${courseId}/embed`)]
  for (const reply of replies) {
    expect(reply.headers).not.toHaveProperty('x-frame-options')
    expect(reply.headers).toMatchObject({
      'content-security-policy': expect.stringContaining('frame-ancestors *'),
      'referrer-policy': 'no-referrer',
      'cache-control': 'private, no-store',
      'x-robots-tag': 'noindex',
    })
    expect(reply.headers['content-security-policy']).not.toContain('unsafe-inline')
    expect(reply.body).not.toMatch(/<script|src=|https?:/)
    expect(reply.headers).not.toHaveProperty('set-cookie')
  }
  expect((await get(portalUrl)).headers).not.toHaveProperty('x-frame-options')
})

test('the link expires after 5 minutes; the session that it opened lasts longer, but ends too', async () => {
  const [unopened, opened] = [await link(), await open()]
  clock.advance(5 * minute - 1)
  expect((await get(unopened)).status).toBe(302)
  clock.advance(1)
  expectPage(await get(unopened), 404, 'You are signed out')
  expectPage(await get(opened), 200, 'Sourdough')
  expect((await finish(sessionOf(opened))).status).toBe(303)
  clock.advance(12 * 60 * minute)
  expectPage(await get(opened), 404, 'You are signed out')
  expectPage(await finish(sessionOf(opened), lessons[1]), 404, 'You are signed out')
  expect(await progress()).toHaveLength(1)
})

test('a tampered token, a token of another course, membership or purpose, and a missing one are a 404 page', async () => {
  const portalUrl = await link()
  const other = (await course(t, account, 'Rye')).id
  const stranger = await t.account()
  await claim(t, stranger, `other-${claimed}`)
  const session = sessionOf(await open())
  const token = portalUrl.split('token=')[1]!
  const unsubscribe = t.app.tokens.sign('unsubscribe', [account.id, email], null)
  for (const path of [
    portalUrl.slice(0, -1),
    `${portalUrl}A`,
    portalUrl.replace('token=', 'token=A'),
    portalUrl.replace(courseId, other),
    portalUrl.replace(slug, `other-${claimed}`),
    `/other-${claimed}/${courseId}/embed?session=${session}`,
    `/${slug}/${courseId}/embed?token=${session}`,
    `/${slug}/${courseId}/embed?session=${token}`,
    `/${slug}/${courseId}/embed?token=${unsubscribe}`,
    `/${slug}/${courseId}/embed?session=${unsubscribe}`,
    `/${slug}/${courseId}/embed?token=`,
    `/${slug}/${courseId}/embed`,
  ])
    expectPage(await get(path), 404, 'You are signed out')
})

test('an unknown membership, course or lesson is a page; other paths at the root are JSON', async () => {
  const opened = await open()
  for (const path of ['/nobody/crs_none/embed', '/No%00body/x/embed', `/${slug}-x/${courseId}/embed?token=x`])
    expectPage(await get(path), 404, 'This link does not work')
  for (const path of [opened.replace(courseId, 'crs_none'), opened.replace(courseId, '%00')])
    expectPage(await get(path), 404, 'This course is not available')
  expectPage(await get(`${opened}&lesson=les_none`), 404, 'This link does not work')
  for (const lesson of ['les_none', '\0', ''])
    expectPage(await finish(sessionOf(opened), lesson), 404, 'This link does not work')
  for (const path of ['/api/v1/embed', '/f/x/embed', '/healthz/x/embed', '/docs/x/embed', '/openapi.json/x/embed/y']) {
    const reply = await t.server.fastify.inject({ method: 'GET', url: path })
    expect([path, reply.statusCode, reply.json()]).toEqual([path, 404, { error: 'Not found' }])
  }
  const posted = await t.server.fastify.inject({ method: 'POST', url: '/api/v1/embed', payload: {} })
  expect([posted.statusCode, posted.json()]).toEqual([404, { error: 'Not found' }])
  for (const path of [`/${slug}`, `/${slug}/${courseId}`, `/${slug}/${courseId}/embed/x`])
    expect((await t.server.fastify.inject({ method: 'GET', url: path })).json()).toEqual({ error: 'Not found' })
})

test('a lesson is shown in paragraphs, its HTML as text, with a POST form that finishes it, once', async () => {
  const attack = '<script>alert(1)</script> & "more"'
  const bad = await t.app.work(account.id, 'cli:test', (work) =>
    addLesson(work, courseId, { title: attack, content: `${attack}\n\nSecond\nline` }),
  )
  const opened = await open()
  const reply = await get(`${opened}&lesson=${bad.id}`)
  expectPage(reply, 200, '<form method="post" action="?">')
  expect(reply.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;more&quot;</p>')
  expect(reply.body).toContain('<p>Second<br>\nline</p>')
  expect(reply.body).not.toContain('<script')
  const finished = await finish(sessionOf(opened), bad.id)
  expect(finished.status).toBe(303)
  await ok(finish(sessionOf(opened), bad.id), 303)
  expectPage(await get(led(finished)), 200, 'You have finished this lesson.')
  expect((await get(led(finished))).body).not.toContain('<form')
  expectPage(await get(opened), 200, '1 of 3 lessons finished')
  expect(await progress()).toHaveLength(1)
})

test('GET finishes no lesson', async () => {
  const opened = await open()
  await ok(get(`${opened}&lesson=${lessons[0]}`))
  await t.server.fastify.inject({ method: 'HEAD', url: `${opened}&lesson=${lessons[1]}` })
  expect(await progress()).toEqual([])
})

test('finishing the last lesson sends completed once; a lesson added later does not complete it again', async () => {
  const session = sessionOf(await open())
  await ok(finish(session, lessons[1]), 303)
  expect(await subjects()).toEqual(['You now have access to Sourdough'])
  const last = await finish(session, lessons[0])
  expect((await get(led(last))).body).toContain('You have completed this course.')
  await ok(finish(session, lessons[0]), 303)
  expect(await subjects()).toEqual(['You have completed Sourdough', 'You now have access to Sourdough'])
  const added = await t.app.work(account.id, 'cli:test', (work) =>
    addLesson(work, courseId, { title: 'Salt', content: 'Salt.' }),
  )
  await ok(finish(session, added.id), 303)
  expect(await subjects()).toHaveLength(2)
})

test('finishing both last lessons concurrently, ten times, sends completed once', async () => {
  const session = sessionOf(await open())
  const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => finish(session, lessons[i % 2])))
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 303))
  expect(await subjects()).toEqual(['You have completed Sourdough', 'You now have access to Sourdough'])
})

test('the portal shows the published courses of the whole membership, and opens them with any key', async () => {
  const rye = await course(t, account, 'Rye', ['Grain'])
  await t.app.work(account.id, 'cli:test', (work) => createCourse(work, { title: 'Draft' }))
  await course(t, await t.account(), 'Foreign')
  const opened = await open()
  const { body } = await ok(get(opened))
  expect(body).toContain(`<a href="../${rye.id}/embed?session=`)
  expect(body).not.toMatch(/Draft|Foreign/)
  expectPage(await get(opened.replace(courseId, rye.id)), 200, 'Grain')
  await ok(finish(sessionOf(opened), rye.lessons[0], rye.id), 303)
  expect(await subjects()).toEqual(['You have completed Rye', 'You now have access to Sourdough'])
})

test('a lesson of one course can’t be finished under another', async () => {
  const rye = await course(t, account, 'Rye', ['Grain'])
  expect((await finish(sessionOf(await open()), rye.lessons[0])).status).toBe(404)
  expect(await progress()).toEqual([])
})

test('a revoked member with an open portal loses access immediately, and gets it back with its progress', async () => {
  const [opened, unopened] = [await open(), await link()]
  await ok(finish(sessionOf(opened)), 303)
  await enrol(t, account, courseId, email, false)
  expectPage(await get(opened), 403, 'You no longer have access')
  expectPage(await get(`${opened}&lesson=${lessons[0]}`), 403, 'You no longer have access')
  expectPage(await get(led(await get(unopened))), 403, 'You no longer have access')
  expectPage(await finish(sessionOf(opened), lessons[1]), 403, 'You no longer have access')
  expect(await progress()).toHaveLength(1)
  expect(await subjects()).toEqual(['You now have access to Sourdough'])
  await enrol(t, account, courseId, email)
  expectPage(await get(opened), 200, '1 of 2 lessons finished')
})

test('a member with another active key keeps access after a revocation', async () => {
  const opened = await open()
  await enrol(t, account, (await course(t, account, 'Rye')).id, email)
  await enrol(t, account, courseId, email, false)
  expectPage(await get(opened), 200, 'Sourdough')
})

test('an unpublished course is closed immediately, also for members who have it open', async () => {
  const opened = await open()
  await t.app.work(account.id, 'cli:test', (work) => publishCourse(work, courseId, false))
  expectPage(await get(opened), 404, 'This course is not available')
  expect((await finish(sessionOf(opened))).status).toBe(404)
  expect(await progress()).toEqual([])
})

/** An address's personal data in courses, by part. */
const personalDataOf = async (address: string) => {
  const reader = { sql: t.app.sql, accountId: account.id }
  const parts = await Promise.all(
    personalData.map(async ({ name, read }) => [name, await read(reader, address)] as const),
  )
  return Object.fromEntries(parts)
}

test('a person’s data are their keys and progress, nothing of others, and nothing after the erasure', async () => {
  const session = sessionOf(await open())
  for (const lesson of lessons) await ok(finish(session, lesson), 303)
  await enrol(t, account, courseId, 'bob@people.example')
  const at = expect.any(Number)
  const title = 'Sourdough'
  expect(await personalDataOf(email)).toEqual({
    enrolments: [
      { subscriberId: expect.stringMatching(/^sub_/), courseId, title, active: true, enrolledAt: at, updatedAt: at },
    ],
    finishedLessons: [
      { courseId, lessonId: lessons[0], title: 'Flour', finishedAt: at },
      { courseId, lessonId: lessons[1], title: 'Water', finishedAt: at },
    ].toSorted((a, b) => (a.lessonId! < b.lessonId! ? -1 : 1)),
    completedCourses: [{ courseId, title, completedAt: at }],
  })
  const nothing = { enrolments: [], finishedLessons: [], completedCourses: [] }
  expect(await personalDataOf('stranger@people.example')).toEqual(nothing)
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
    await eraseContact(work, email, { dryRun: false })
  })
  expect(await personalDataOf(email)).toEqual(nothing)
  expect((await personalDataOf('bob@people.example')).enrolments).toHaveLength(1)
})

test('an erased member loses the portal and the progress immediately', async () => {
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
  })
  const opened = await open()
  for (const lesson of lessons) await ok(finish(sessionOf(opened), lesson), 303)
  await t.app.work(account.id, 'cli:test', (work) => eraseContact(work, email, { dryRun: false }))
  expectPage(await get(opened), 403, 'You no longer have access')
  expect((await finish(sessionOf(opened))).status).toBe(403)
  expect(await progress()).toEqual([])
  expect(await t.app.sql('select from course_completions where account_id = $1', [account.id])).toEqual([])
})

test('a deleted account has no portal', async () => {
  const opened = await open()
  await deleteAccount(t.app, account.id, { actor: 'cli:test' })
  expectPage(await get(opened), 404, 'This link does not work')
})

test('the link in an email opens the portal for 30 days', async () => {
  const [mail] = await mailsOf(t, account)
  const path = /https:\/\/svc\.example(\S+)/.exec(mail!.text!)![1]!
  clock.advance(30 * 24 * 60 * minute - 1)
  expectPage(await get(led(await get(path))), 200, 'Sourdough')
  clock.advance(1)
  expectPage(await get(path), 404, 'You are signed out')
})

test('a course without lessons says so', async () => {
  const { id } = await course(t, account, 'Empty')
  expectPage(await get(await open(id)), 200, 'There are no lessons yet.')
})

test('a lesson links to its neighbours; the only lesson of a course has no navigation', async () => {
  const textsOf = async (path: string) => (await get(path)).body.match(/(Previous|Next): <a[^>]*>[^<]+/g)
  const opened = await open()
  expect(await textsOf(`${opened}&lesson=${lessons[0]}`)).toEqual([expect.stringMatching(/^Next: .*>Water$/)])
  expect(await textsOf(`${opened}&lesson=${lessons[1]}`)).toEqual([expect.stringMatching(/^Previous: .*>Flour$/)])
  const single = await course(t, account, 'Single', ['Only'])
  const { body } = await get(`${await open(single.id)}&lesson=${single.lessons[0]}`)
  expect(body).toContain('Lesson 1 of 1')
  expect(body).not.toContain('<nav')
})

test('a lesson’s page loads its video and nothing else from other hosts; the other pages load nothing', async () => {
  const opened = await open()
  const lesson = lessons[0]!
  const show = async (videoUrl: string) => {
    await t.app.work(account.id, 'cli:test', (work) => updateLesson(work, courseId, lesson, { videoUrl }))
    return get(`${opened}&lesson=${lesson}`)
  }
  const policyOf = ({ headers }: Reply) =>
    String(headers['content-security-policy'])
      .split('; ')
      .filter((part) => !part.startsWith('style-src'))
  const plain = policyOf(await get(`${opened}&lesson=${lesson}`))
  const framed = await show('https://youtu.be/dQw4w9WgXcQ')
  expect(policyOf(framed).toSorted()).toEqual([...plain, 'frame-src https://www.youtube-nocookie.com'].toSorted())
  expect(framed.body).toContain('<iframe src="https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ" title="Video: Flour"')
  const filed = await show('https://cdn.example/a.mp4?x="><script>')
  expect(policyOf(filed).toSorted()).toEqual([...plain, 'media-src https://cdn.example'].toSorted())
  expect(filed.body).toContain('<video src="https://cdn.example/a.mp4?x=%22%3E%3Cscript%3E" aria-label="Video: Flour"')
  for (const path of [opened, `${opened}&lesson=${lessons[1]}`]) {
    const reply = await get(path)
    expect([policyOf(reply), /<iframe|<video/.test(reply.body)]).toEqual([plain, false])
  }
  // A row that was not written by this program widens no policy.
  await t.app.sql('update lessons set video_url = $2 where id = $1', [
    lesson,
    "https://a;script-src 'unsafe-inline'/a.mp4",
  ])
  expect(policyOf(await get(`${opened}&lesson=${lesson}`))).toEqual(plain)
  expect((await show('')).body).not.toMatch(/<iframe|<video/)
})

const complete = async (): Promise<string> => {
  const session = sessionOf(await open())
  for (const lesson of lessons) await ok(finish(session, lesson), 303)
  return session
}
const enterName = (session: string, name: string) =>
  t.request('POST', `/${slug}/${courseId}/embed`, {
    body: new URLSearchParams({ session, name }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
/** Returns the path of the certificate that the portal links to. */
const certificateOf = async (session: string): Promise<string> => {
  const { body } = await ok(get(`/${slug}/${courseId}/embed?session=${session}`))
  return `/${slug}/${courseId}/${/href="(certificate\/[^"]+)"/.exec(body)![1]}`
}

test('a completed course has a certificate, which anyone with the link can verify', async () => {
  const opened = await open()
  await ok(finish(sessionOf(opened), lessons[0]), 303)
  expect((await get(opened)).body).not.toContain('certificate')
  expect((await enterName(sessionOf(opened), 'Ada')).status).toBe(404)
  const session = await complete()
  const path = await certificateOf(session)
  const reply = await get(path)
  expectPage(reply, 200, '<bdi>Sourdough</bdi>')
  for (const text of ['<bdi>a***@people.example</bdi>', `<bdi>${account.name}</bdi>`, 'Valid.', 'svc.example'])
    expect(reply.body).toContain(text)
  expect(reply.body).not.toContain('own entry')
  expect(reply.body).toContain(`datetime="${clock.now().toISOString().slice(0, 10)}"`)
  expect(reply.body).not.toContain('ada')
  expect(reply.headers).toMatchObject({
    'x-frame-options': 'DENY',
    'cache-control': 'private, no-store',
    'x-robots-tag': 'noindex',
    'referrer-policy': 'no-referrer',
  })
  // On paper it shows where it can be checked, and nothing is loaded from there.
  expect(reply.body).not.toMatch(/\ssrc=|https?:(?!\/\/svc\.example\/)/)
  expect(reply.body).toContain(`Check it at https://svc.example${path}`)
  const mail = (await mailsOf(t, account)).find(({ subject }) => subject === 'You have completed Sourdough')
  expect(mail!.text).toContain(`Show it to others: https://svc.example${path}`)
  expect(mail!.text).toMatch(/Get your certificate: https:\/\/svc\.example\S+\/embed\?token=\S+#certificate\n/)
})

test('it shows the name that the member enters, as text; what is no name is refused, and an empty one shows the address', async () => {
  const session = await complete()
  const path = await certificateOf(session)
  const saved = await enterName(session, '  <b>Ada</b> O’Káfor ')
  expect(saved).toMatchObject({ status: 303, headers: { location: `?session=${session}&saved=name#certificate` } })
  expectPage(await get(led(saved)), 200, 'The name is saved.')
  expectPage(await get(path), 200, '<bdi>&lt;b&gt;Ada&lt;/b&gt; O’Káfor</bdi>')
  for (const name of [
    'x'.repeat(101),
    'Ada\u202eadA',
    'Ada\nB',
    'Ada\u0007',
    'Ada\0',
    '\u2028Ada\u2028x',
    '123',
    'x'.repeat(2000),
  ]) {
    const refused = await enterName(session, name)
    expectPage(refused, 400, 'role="alert"')
    expect(refused.body).toContain('aria-invalid="true"')
  }
  expectPage(await get(path), 200, 'O’Káfor')
  expect((await personalDataOf(email)).completedCourses).toMatchObject([{ name: '<b>Ada</b> O’Káfor' }])
  const longest = `a${'😀'.repeat(99)}`
  await ok(enterName(session, ` ${longest} `), 303)
  expectPage(await get(path), 200, `<bdi>${longest}</bdi>`)
  expectPage(await enterName(session, `${longest}😀`), 400, 'at most 100 characters')
  await ok(enterName(session, ' '), 303)
  expectPage(await get(path), 200, '<bdi>a***@people.example</bdi>')
  // Another member's name is not changed.
  const bob = await enrol(t, account, courseId, 'bob@people.example')
  const stranger = t.app.tokens.sign('portal-session', [account.id, bob.subscriberId], null)
  expect((await enterName(stranger, 'Bob')).status).toBe(404)
})

test('a link that was changed, or is of another course, membership or purpose is a 404 page', async () => {
  const path = await certificateOf(await complete())
  const token = path.split('/').at(-1)!
  const other = await course(t, account, 'Rye')
  const foreign = await t.account()
  await claim(t, foreign, `rival-${claimed}`)
  const member = t.app.tokens.read('certificate', token, 0)![1]!
  const paths = [
    path.slice(0, -1),
    `${path}A`,
    path.replace(courseId, other.id),
    path.replace(slug, `rival-${claimed}`),
    path.replace(slug, 'nobody'),
    `/${slug}/${courseId}/certificate/${t.app.tokens.sign('portal', [account.id, member, courseId], null)}`,
    `/${slug}/${other.id}/certificate/${t.app.tokens.sign('certificate', [account.id, member, other.id], null)}`,
    `/${slug}/${courseId}/certificate/${t.app.tokens.sign('certificate', [account.id, 'sub_none', courseId], null)}`,
    `/${slug}/%00/certificate/${token}`,
    `/${slug}/${courseId}/certificate/%00`,
  ]
  for (const changed of paths) expectPage(await get(changed), 404, 'This certificate is not valid')
  const reserved = await t.server.fastify.inject({ method: 'GET', url: `/api/v1/certificate/${token}` })
  expect([reserved.statusCode, reserved.json()]).toEqual([404, { error: 'Not found' }])
})

test('a certificate stays valid without access and while the course is closed; it ends with the course or the address', async () => {
  const session = await complete()
  await ok(enterName(session, 'Ada'), 303)
  const path = await certificateOf(session)
  await enrol(t, account, courseId, email, false)
  await t.app.work(account.id, 'cli:test', (work) => publishCourse(work, courseId, false))
  clock.advance(400 * 24 * 60 * minute)
  expectPage(await get(path), 200, '<bdi>Ada</bdi>')
  expect((await get(path)).body).toContain('The name is the member’s own entry; nobody has checked it.')
  expect((await enterName(t.app.tokens.sign('portal-session', [account.id, 'x'], null), 'Eve')).status).toBe(403)
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
    await eraseContact(work, email, { dryRun: false })
  })
  expectPage(await get(path), 404, 'This certificate is not valid')
  // Enrolled again after the erasure, they are somebody else.
  await t.app.work(account.id, 'cli:test', (work) => publishCourse(work, courseId, true))
  await enrol(t, account, courseId, email)
  const again = await certificateOf(await complete())
  expectPage(await get(path), 404, 'This certificate is not valid')
  expectPage(await get(again), 200, 'Valid.')
  await deleteCourse(t.app, account.id, courseId, { actor: 'cli:test' })
  expectPage(await get(again), 404, 'This certificate is not valid')
})

test('a certificate of a deleted account is a 404 page', async () => {
  const path = await certificateOf(await complete())
  await deleteAccount(t.app, account.id, { actor: 'cli:test' })
  expectPage(await get(path), 404, 'This certificate is not valid')
})
