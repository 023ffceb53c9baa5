import { accountOfSlug, isReservedSlug } from '../accounts/accounts.ts'
import { html } from '../pages/html.ts'
import { notFound, type Page, type PageCall, type PageView } from '../pages/page.ts'
import {
  entitledEmail,
  finishLesson,
  type LessonView,
  memberOfLink,
  memberOfSession,
  openSession,
  type Progress,
  publishedCourses,
  readProgress,
} from './courses.ts'

/** Links and forms are relative and carry the session: a frame in another site keeps no cookie (courses.links.ts). */
const style = `
main { margin-top: 2vh; max-width: 44rem }
h2 { margin: 2rem 0 .5rem; font-size: 1.1rem }
ol, ul { margin: 0 0 1rem; padding-left: 1.5rem } li { padding: .35rem 0 }
progress { display: block; width: 100%; height: .75rem; margin: 0 0 1rem; accent-color: var(--act) }
.content { white-space: pre-line } .done { color: var(--quiet); white-space: nowrap } form { margin: 1.5rem 0 1rem }
`

const said = (status: number, title: string, sentence: string): PageView => ({
  status,
  title,
  body: html`<h1>${title}</h1><p>${sentence}</p>`,
})

const signedOut = said(
  404,
  'You are signed out',
  'This link is no longer valid. Please open the course again from where you came.',
)
const noAccess = said(
  403,
  'You no longer have access',
  'Your access to this membership has ended. What you have finished is kept for when you come back.',
)
const notOpen = said(404, 'This course is not available', 'It may be closed for now. Please try again later.')

interface Visitor {
  accountId: string
  memberId: string
  email: string
  session: string
}

/** Who looks, looked up anew each time: revoked access ends what is open at once. Else what is said instead. */
const visitorOf = async ({ app, params }: PageCall, session = ''): Promise<Visitor | PageView> => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFound
  const memberId = memberOfSession(app, session, accountId)
  if (memberId === null) return signedOut
  const email = await entitledEmail({ sql: app.sql, accountId }, memberId)
  return email === null ? noAccess : { accountId, memberId, email, session }
}

/** Signs in whom the link is for. The page is reloaded by its session: that outlives the link. */
const signIn = async ({ app, params }: PageCall, token: string) => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFound
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
<li><a href="?session=${session}&lesson=${id}">${title}</a>${isFinished && html` <span class="done">✓ finished</span>`}</li>`,
  )}
</ol>
${
  others.length > 0 &&
  html`<nav aria-labelledby="more"><h2 id="more">More in this membership</h2>
<ul>${others.map(({ id, title }) => html`<li><a href="../${id}/embed?session=${session}">${title}</a></li>`)}</ul></nav>`
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
    : html`<form method="post" action="?"><input type="hidden" name="session" value="${session}"><input type="hidden" name="lesson" value="${lesson.id}"><button type="submit">Finish this lesson</button></form>`
}
${next && html`<p>Next: <a href="?session=${session}&lesson=${next.id}">${next.title}</a></p>`}`,
  }
}

/** What can't be an id is asked of no database. */
const isId = (text = ''): boolean => /^\w{1,100}$/.test(text)

/** In the frame of whichever site has asked for it. A path of the server's own is none of a membership. */
const portal = {
  path: '/:slug/:courseId/embed',
  isFramed: true,
  isAt: ({ slug }: Readonly<Record<string, string>>) => !isReservedSlug(slug!),
} as const

const look: Page = {
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
    return lesson ? lessonView(visitor, progress, lesson) : notFound
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
    if (!isId(courseId) || !isId(lessonId)) return notFound
    await app.work(accountId, 'page:portal', (work) => finishLesson(app, work, { memberId, courseId, lessonId }))
    return { redirect: `?session=${session}&lesson=${lessonId}` }
  },
}

export const pages: readonly Page[] = [look, finish]
