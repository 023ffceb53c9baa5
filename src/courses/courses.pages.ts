import { accountOfSlug, isReservedSlug, readBrand } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import { failurePage, notFoundPage, type Page, type PageAnswer, type PageCall, type PageView } from '../pages/page.ts'
import { findCertificate, nameCertificate } from './courses.certificates.ts'
import { certificatePath, memberOfCertificate, memberOfLink, memberOfSession, openSession } from './courses.links.ts'
import {
  entitledEmail,
  finishLesson,
  lessonHtml,
  type Progress,
  publishedCourses,
  readProgress,
} from './courses.progress.ts'
import { certificateView, courseView, lessonView, type NameEntry, type Visitor } from './courses.views.ts'

const signedOut = failurePage(
  404,
  'You are signed out',
  'This link is no longer valid. Please open the course again from your email or the site that you came from.',
)
const noAccess = failurePage(
  403,
  'You no longer have access',
  'Your access to this membership has ended. Your progress is kept in case you come back.',
)
const notOpen = failurePage(404, 'This course is not available', 'It may be closed. Please try again later.')
const noCertificate = failurePage(
  404,
  'This certificate is not valid',
  'The link may be incomplete, or the certificate does not exist any more.',
)

/**
 * Returns the visitor of a session, or the page to show instead. Checks access on each request, so a revocation takes effect
 * immediately.
 */
const visitorOf = async ({ app, params }: PageCall, session = ''): Promise<Visitor | PageView> => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFoundPage
  const memberId = memberOfSession(app, session, accountId)
  if (memberId === null) return { ...signedOut, accountId }
  const reader = { sql: app.sql, accountId }
  const email = await entitledEmail(reader, memberId)
  if (email === null) return { ...noAccess, accountId }
  return { accountId, memberId, email, session, lang: (await readBrand(reader)).lang }
}

/** Signs in the link's member and redirects to a URL with a session, which outlives the link. */
const signIn = async ({ app, params }: PageCall, token: string) => {
  const accountId = await accountOfSlug(app, params.slug!)
  if (accountId === null) return notFoundPage
  const memberId = memberOfLink(app, token, { accountId, courseId: params.courseId! })
  return memberId === null
    ? { ...signedOut, accountId }
    : { redirect: `?session=${openSession(app, accountId, memberId)}` }
}

/** Saves a query for texts that can't be ids. */
const isId = (text = ''): boolean => /^\w{1,100}$/.test(text)

/** Reserved slugs are paths of the server itself. */
const isAt = ({ slug }: Readonly<Record<string, string>>) => !isReservedSlug(slug!)

const accountOf: Page['accountOf'] = (app, { slug }) => accountOfSlug(app, slug!)

/** Any site can embed the portal. */
const portal = { path: '/:slug/:courseId/embed', isFramed: true, isAt, accountOf } as const

const showCourse = async (
  { app }: PageCall,
  visitor: Visitor,
  progress: Progress,
  entry?: NameEntry,
): Promise<PageView> => {
  const { accountId, memberId } = visitor
  const reader = { sql: app.sql, accountId }
  const holder = { memberId, courseId: progress.course.id }
  const others = (await publishedCourses(reader)).filter(({ id }) => id !== holder.courseId)
  const certificate = progress.isCompleted ? await findCertificate(reader, holder) : null
  const own = certificate && { ...certificate, path: certificatePath(app, accountId, holder) }
  return { ...courseView(visitor, progress, others, own, entry), accountId }
}

const progressIn = async ({ app, params }: PageCall, { accountId, memberId }: Visitor): Promise<Progress | null> =>
  isId(params.courseId) ? readProgress({ sql: app.sql, accountId }, memberId, params.courseId!) : null

const show: Page = {
  ...portal,
  method: 'GET',
  handle: async (call) => {
    const { app, query } = call
    if (query.token !== undefined) return signIn(call, query.token)
    const visitor = await visitorOf(call, query.session)
    if ('title' in visitor) return visitor
    const progress = await progressIn(call, visitor)
    const { accountId } = visitor
    if (!progress) return { ...notOpen, accountId }
    if (query.lesson === undefined) return showCourse(call, visitor, progress, { isSaved: query.saved === 'name' })
    const lesson = progress.lessons.find(({ id }) => id === query.lesson)
    if (!lesson) return notFoundPage
    const content = await lessonHtml({ sql: app.sql, accountId }, progress.course.id, lesson.id)
    return { ...lessonView(visitor, progress, lesson, { text: content }), accountId }
  },
}

const saveName = async (call: PageCall, visitor: Visitor, given: string): Promise<PageAnswer> => {
  const { accountId, memberId, session } = visitor
  const progress = await progressIn(call, visitor)
  if (!progress) return { ...notOpen, accountId }
  const holder = { memberId, courseId: progress.course.id }
  try {
    await call.app.work(accountId, 'page:portal', (work) => nameCertificate(work, holder, given))
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== 'invalid') throw error
    return showCourse(call, visitor, progress, { given, fault: `The ${error.message}` })
  }
  return { redirect: `?session=${session}&saved=name#certificate` }
}

const post: Page = {
  ...portal,
  method: 'POST',
  tokenField: 'session',
  handle: async (call) => {
    const { app, params, form } = call
    const visitor = await visitorOf(call, form.session)
    if ('title' in visitor) return visitor
    if (form.name !== undefined) return saveName(call, visitor, form.name)
    const { accountId, memberId, session } = visitor
    const [courseId, lessonId] = [params.courseId!, form.lesson!]
    if (!isId(courseId) || !isId(lessonId)) return notFoundPage
    await app.work(accountId, 'page:portal', (work) => finishLesson(app, work, { memberId, courseId, lessonId }))
    return { redirect: `?session=${session}&lesson=${lessonId}` }
  },
}

/** Anyone with the link can verify it. */
const certificate: Page = {
  method: 'GET',
  path: '/:slug/:courseId/certificate/:token',
  isAt,
  accountOf,
  handle: async ({ app, params }) => {
    const accountId = await accountOfSlug(app, params.slug!)
    if (accountId === null) return noCertificate
    const courseId = params.courseId!
    const memberId = memberOfCertificate(app, params.token!, { accountId, courseId })
    if (memberId === null) return noCertificate
    const reader = { sql: app.sql, accountId }
    const found = await findCertificate(reader, { memberId, courseId })
    if (!found) return noCertificate
    const brand = await readBrand(reader)
    const shown = { ...found, account: brand.brandName ?? found.account }
    const url = `${app.config.publicUrl}/${params.slug}/${courseId}/certificate/${params.token}`
    return { ...certificateView(shown, url, brand), accountId }
  },
}

export const pages: readonly Page[] = [show, post, certificate]
