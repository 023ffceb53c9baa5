import { accountOfSlug, isReservedSlug } from '../accounts/accounts.ts'
import { html } from '../pages/html.ts'
import { notFoundPage, type Page, type PageCall, type PageView } from '../pages/page.ts'
import type { LessonView } from './courses.find.ts'
import { memberOfLink, memberOfSession, openSession } from './courses.links.ts'
import { entitledEmail, finishLesson, type Progress, publishedCourses, readProgress } from './courses.progress.ts'

/** Links and forms are relative and contain the session, because a frame in another site keeps no cookies (courses.links.ts). */
const style = `
main { margin-top: 2vh; max-width: 44rem }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem }
ol, ul { margin: 0 0 1rem; padding-left: 1.5rem }
li { padding: .35rem 0 }
progress { display: block; width: 100%; height: .75rem; margin: 0 0 1rem; accent-color: var(--act) }
.content { white-space: pre-line }
.done { color: var(--quiet); white-space: nowrap }
form { margin: 1.5rem 0 1rem }
`

const notice = (status: number, title: string, sentence: string): PageView => ({
  status,
  title,
  body: html`<h1>${title}</h1>
<p>${sentence}</p>`,
})

const signedOut = notice(
  404,
  'You are signed out',
  'This link is no longer valid. Please open the course again from your email or the site that you came from.',
)
const noAccess = notice(
  403,
  'You no longer have access',
  'Your access to this membership has ended. Your progress is kept in case you come back.',
)
const notOpen = notice(404, 'This course is not available', 'It may be closed. Please try again later.')

interface Visitor {
  accountId: string
  memberId: string
  email: string
  session: string
}

/**
 * Returns the visitor of a session, or the page to show instead. Checks access on each request, so a revocation takes effect
 * immediately.
 */
const visitorOf = async ({ app, params }: PageCall, session = ''): Promise<Visitor | PageView> => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFoundPage
  const memberId = memberOfSession(app, session, accountId)
  if (memberId === null) return signedOut
  const email = await entitledEmail({ sql: app.sql, accountId }, memberId)
  return email === null ? noAccess : { accountId, memberId, email, session }
}

/** Signs in the link's member and redirects to a URL with a session, which outlives the link. */
const signIn = async ({ app, params }: PageCall, token: string) => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFoundPage
  const memberId = memberOfLink(app, token, { accountId, courseId: params.courseId! })
  return memberId === null ? signedOut : { redirect: `?session=${openSession(app, accountId, memberId)}` }
}

const finishedOf = ({ lessons }: Progress): number => lessons.filter(({ isFinished }) => isFinished).length

const progressOf = (progress: Progress) => {
  const [finished, all] = [finishedOf(progress), progress.lessons.length]
  if (all === 0) return html`<p>There are no lessons yet.</p>`
  return html`<p id="progress">${finished} of ${all} ${all === 1 ? 'lesson' : 'lessons'} finished</p>
<progress aria-labelledby="progress" max="${all}" value="${finished}"></progress>`
}

const completed = ({ isCompleted }: Progress) =>
  isCompleted && html`<p role="status"><strong>You have completed this course.</strong></p>`

const courseView = (
  { session, email }: Visitor,
  progress: Progress,
  others: readonly { id: string; title: string }[],
): PageView => ({
  title: progress.course.title,
  style,
  body: html`<h1>${progress.course.title}</h1>
${completed(progress)}
${progressOf(progress)}
<ol>${progress.lessons.map(
    ({ id, title, isFinished }) => html`
<li>
<a href="?session=${session}&lesson=${id}">${title}</a>
${isFinished && html`<span class="done">✓ finished</span>`}
</li>`,
  )}
</ol>
${
  others.length > 0 &&
  html`<nav aria-labelledby="more">
<h2 id="more">More in this membership</h2>
<ul>${others.map(({ id, title }) => html`<li><a href="../${id}/embed?session=${session}">${title}</a></li>`)}</ul>
</nav>`
}
<p class="quiet">Signed in as ${email}</p>`,
})

const paragraphs = (content: string) =>
  content.split(/\n\s*\n/).map((paragraph) => html`<p class="content">${paragraph.trim()}</p>\n`)

const lessonView = (
  { session }: Visitor,
  progress: Progress,
  lesson: LessonView & { isFinished: boolean },
): PageView => {
  const { course, lessons } = progress
  const place = lessons.indexOf(lesson)
  const next = lessons[place + 1]
  return {
    title: `${lesson.title} – ${course.title}`,
    style,
    body: html`<p><a href="?session=${session}">${course.title}</a></p>
<h1>${lesson.title}</h1>
<p class="quiet">Lesson ${place + 1} of ${lessons.length}</p>
${paragraphs(lesson.content)}
${
  lesson.isFinished
    ? html`<p role="status">You have finished this lesson.</p>${completed(progress)}`
    : html`<form method="post" action="?">
<input type="hidden" name="session" value="${session}">
<input type="hidden" name="lesson" value="${lesson.id}">
<button type="submit">Finish this lesson</button>
</form>`
}
${next && html`<p>Next: <a href="?session=${session}&lesson=${next.id}">${next.title}</a></p>`}`,
  }
}

/** Saves a query for texts that can't be ids. */
const isId = (text = ''): boolean => /^\w{1,100}$/.test(text)

/** Any site can embed the portal. Reserved slugs are paths of the server itself. */
const portal = {
  path: '/:slug/:courseId/embed',
  isFramed: true,
  isAt: ({ slug }: Readonly<Record<string, string>>) => !isReservedSlug(slug!),
} as const

const show: Page = {
  ...portal,
  method: 'GET',
  handle: async (call) => {
    const { app, params, query } = call
    if (query.token !== undefined) return signIn(call, query.token)
    const visitor = await visitorOf(call, query.session)
    if ('title' in visitor) return visitor
    const reader = { sql: app.sql, accountId: visitor.accountId }
    const courseId = params.courseId!
    const progress = isId(courseId) ? await readProgress(reader, visitor.memberId, courseId) : null
    if (!progress) return notOpen
    if (query.lesson === undefined) {
      const others = (await publishedCourses(reader)).filter(({ id }) => id !== progress.course.id)
      return courseView(visitor, progress, others)
    }
    const lesson = progress.lessons.find(({ id }) => id === query.lesson)
    return lesson ? lessonView(visitor, progress, lesson) : notFoundPage
  },
}

const finish: Page = {
  ...portal,
  method: 'POST',
  handle: async (call) => {
    const { app, params, form } = call
    const visitor = await visitorOf(call, form.session)
    if ('title' in visitor) return visitor
    const { accountId, memberId, session } = visitor
    const [courseId, lessonId] = [params.courseId!, form.lesson!]
    if (!isId(courseId) || !isId(lessonId)) return notFoundPage
    await app.work(accountId, 'page:portal', (work) => finishLesson(app, work, { memberId, courseId, lessonId }))
    return { redirect: `?session=${session}&lesson=${lessonId}` }
  },
}

export const pages: readonly Page[] = [show, finish]
