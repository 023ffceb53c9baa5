import { dateText, type Locale } from '../lib/dates.ts'
import { maskedEmail } from '../lib/email.ts'
import { number, quantity } from '../lib/quantity.ts'
import { videoOf } from '../lib/video.ts'
import { cover, coverStyle } from '../pages/cover.ts'
import { type Html, html } from '../pages/html.ts'
import type { PageView } from '../pages/page.ts'
import { videoPlayer, videoStyle } from '../pages/player.ts'
import { type Certificate, nameMaxLength } from './courses.certificates.ts'
import type { Progress, SeenLesson } from './courses.progress.ts'

/** Links and forms are relative and contain the session, because a frame in another site keeps no cookies (courses.links.ts). */
const style = `
main { margin-top: 2vh; max-width: 44rem }
h2 { margin: 2rem 0 .5rem; font-size: 1.15rem; line-height: 1.3 }
progress { display: block; width: 100%; height: .75rem; margin: 0 0 1.25rem; accent-color: var(--act) }
form { margin: 1.5rem 0 1rem }
.lessons { margin: 0 0 1rem; padding: 0; list-style: none }
.lessons li { display: flex; gap: .75rem; align-items: center; padding: .6rem 0; border-top: 1px solid var(--line) }
.lessons li:last-child { border-bottom: 1px solid var(--line) }
.lessons a { flex: 1; min-width: 0 }
.mark {
  flex: none;
  width: 1.9rem;
  height: 1.9rem;
  border: 1px solid var(--quiet);
  border-radius: 50%;
  font-size: .9rem;
  line-height: 1.8rem;
  text-align: center
}
.done .mark { border-color: var(--act); background: var(--act); color: var(--on-act) }
.state { color: var(--quiet); white-space: nowrap }
.others { margin: 0 0 1rem; padding-left: 1.25rem }
.others li { padding: .35rem 0 }
label { display: block; margin: 0 0 .25rem; font-weight: 600 }
input {
  font: inherit;
  width: 100%;
  min-height: 2.75rem;
  padding: .55rem .7rem;
  border: 1px solid var(--quiet);
  border-radius: .5rem;
  background: var(--card);
  color: var(--ink)
}
:root { --fault: #b3261e }
@media screen and (prefers-color-scheme: dark) { :root { --fault: #ffb4ab } }
.fault { color: var(--fault) }
[aria-invalid] { border-color: var(--fault) }
.hint { margin: .35rem 0 1rem }
button + p { margin-top: 1rem }
.award {
  margin: 1.25rem 0 1.5rem;
  padding: 1.25rem;
  border: 1px solid var(--line);
  border-radius: .75rem;
  background: var(--ground)
}
.award h2 { margin-top: 0 }
`

const lessonStyle = `${style}${videoStyle}.up a::before { content: '‹ ' / '' }
.lesson { margin: 1.25rem 0 1.75rem; line-height: 1.6 }
.lesson h2 { font-size: 1.25rem }
.lesson h3 { margin: 1.5rem 0 .5rem; font-size: 1.1rem }
.lesson h4, .lesson h5, .lesson h6 { margin: 1.25rem 0 .5rem; font-size: 1rem }
.lesson ol, .lesson ul { margin: 0 0 1rem; padding-left: 1.5rem }
.lesson li > ol, .lesson li > ul { margin: 0 }
.lesson li { margin: .25rem 0 }
.lesson li > p { margin: 0 0 .5rem }
.lesson blockquote {
  margin: 0 0 1rem;
  padding: .1rem 0 .1rem 1rem;
  border-left: 3px solid var(--line);
  color: var(--quiet)
}
.lesson code { font: .9em ui-monospace, monospace; background: var(--ground); border-radius: .25rem; padding: .1em .3em }
.lesson pre {
  margin: 0 0 1rem;
  padding: .75rem 1rem;
  border: 1px solid var(--line);
  border-radius: .5rem;
  background: var(--ground);
  white-space: pre-wrap
}
.lesson pre code { padding: 0; background: none }
.lesson hr { margin: 1.75rem 0; border: 0; border-top: 1px solid var(--line) }
.finished { margin: 1.5rem 0 }
.ways {
  display: flex;
  flex-wrap: wrap;
  gap: .75rem 1.5rem;
  align-items: center;
  justify-content: space-between;
  padding-top: 1rem;
  border-top: 1px solid var(--line)
}
.ways p { margin: 0 }
`

export interface Visitor {
  accountId: string
  memberId: string
  email: string
  session: string
  /** The language of numbers. It is null for English. */
  lang: string | null
}

/** The certificate of a member who has completed a course. */
interface OwnCertificate extends Certificate {
  /** Relative to the course. */
  path: string
}

/** What a member has entered as their name. */
export interface NameEntry {
  given?: string
  fault?: string
  isSaved?: boolean
}

const finishedOf = ({ lessons }: Progress): number => lessons.filter(({ isFinished }) => isFinished).length

const progressOf = (progress: Progress, lang: string | null) => {
  const [finished, all] = [finishedOf(progress), progress.lessons.length]
  if (all === 0) return html`<p>There are no lessons yet.</p>`
  return html`<p id="progress">${number(finished, lang)} of ${quantity(all, 'lesson', 'lessons', lang)} finished</p>
<progress aria-labelledby="progress" max="${all}" value="${finished}"></progress>`
}

const completed = ({ isCompleted }: Progress) =>
  isCompleted && html`<p role="status"><strong>You have completed this course.</strong></p>`

/** Returns the first unfinished lesson. */
const nextOf = ({ lessons }: Progress) => lessons.find(({ isFinished }) => !isFinished)

const continuing = ({ session, lang }: Visitor, progress: Progress) => {
  const next = nextOf(progress)
  if (!next || progress.isCompleted) return null
  const label = finishedOf(progress) === 0 ? 'Start the course' : `Continue with lesson ${number(next.position, lang)}`
  return html`<p><a class="act" href="?session=${session}&lesson=${next.id}">${label}</a></p>`
}

// Some screen readers announce a list without markers only if it has the role.
const lessonsOf = ({ session, lang }: Visitor, progress: Progress) => {
  if (progress.lessons.length === 0) return null
  const next = nextOf(progress)
  return html`<ol class="lessons" role="list">${progress.lessons.map(
    (lesson) => html`
<li${lesson.isFinished && html` class="done"`}>
<span class="mark" aria-hidden="true">${lesson.isFinished ? '✓' : number(lesson.position, lang)}</span>
<a href="?session=${session}&lesson=${lesson.id}"${lesson === next && html` aria-current="step"`}>${lesson.title}</a>
${lesson.isFinished && html`<span class="state">finished</span>`}
</li>`,
  )}
</ol>`
}

/** The form for the name on a certificate. A member without one is asked for it before they open the certificate. */
const nameForm = (
  { session }: Visitor,
  { name, email }: OwnCertificate,
  { given, fault }: NameEntry,
): Html => html`<form method="post" action="?">
<input type="hidden" name="session" value="${session}">
<label for="name">Name on the certificate</label>
<input type="text" id="name" name="name" maxlength="${nameMaxLength}" autocomplete="name"
  value="${given ?? name}" aria-describedby="${fault !== undefined && 'fault '}hint"${
    fault !== undefined && html` aria-invalid="true" autofocus`
  }>
${fault !== undefined && html`<p class="fault" id="fault" role="alert">${fault}</p>`}
<p class="quiet hint" id="hint">Without a name it shows ${maskedEmail(email)}.</p>
${
  name === null
    ? html`<button type="submit">Create my certificate</button>`
    : html`<button type="submit" class="plain">Save the name</button>`
}
</form>`

const certificateSection = (visitor: Visitor, certificate: OwnCertificate, entry: NameEntry) => {
  const open = (label: string, look: 'act' | null) =>
    html`<a${look && html` class="${look}"`} href="${certificate.path}" target="_blank" rel="noopener">${label}</a>`
  const form = nameForm(visitor, certificate, entry)
  return html`<section class="award" aria-labelledby="certificate">
<h2 id="certificate">Your certificate</h2>
${
  certificate.name === null
    ? html`<p>Enter your name as the certificate should show it.</p>
${form}
<p class="quiet">${open('Open it without a name', null)} (in a new tab)</p>`
    : html`${entry.isSaved === true && html`<p role="status">The name is saved.</p>`}
<p>${open('Open your certificate', 'act')}</p>
<p class="quiet">It opens in a new tab. Anyone with its link can check it.</p>
${form}`
}
</section>`
}

export const courseView = (
  visitor: Visitor,
  progress: Progress,
  others: readonly { id: string; title: string }[],
  certificate: OwnCertificate | null,
  entry: NameEntry = {},
): PageView => ({
  ...(entry.fault !== undefined && { status: 400 }),
  title: progress.course.title,
  style: `${style}${coverStyle(progress.course.id)}`,
  body: html`${cover()}<h1>${progress.course.title}</h1>
${completed(progress)}
${certificate && certificateSection(visitor, certificate, entry)}
${progressOf(progress, visitor.lang)}
${continuing(visitor, progress)}
${lessonsOf(visitor, progress)}
${
  others.length > 0 &&
  html`<nav aria-labelledby="more">
<h2 id="more">More in this membership</h2>
<ul class="others">${others.map(
    ({ id, title }) => html`
<li><a href="../${id}/embed?session=${visitor.session}">${title}</a></li>`,
  )}
</ul>
</nav>`
}
<p class="quiet">Signed in as ${visitor.email}</p>`,
})

/** `content` is the lesson's HTML. */
export const lessonView = (
  { session, lang }: Visitor,
  progress: Progress,
  lesson: SeenLesson,
  content: Html,
): PageView => {
  const { course, lessons } = progress
  const place = lessons.indexOf(lesson)
  const [previous, next] = [lessons[place - 1], lessons[place + 1]]
  const video = lesson.videoUrl === null ? null : videoOf(lesson.videoUrl)
  const link = ({ id, title }: SeenLesson) => html`<a href="?session=${session}&lesson=${id}">${title}</a>`
  const follow = ({ id, title }: SeenLesson) =>
    html`<a class="act" href="?session=${session}&lesson=${id}">Next: ${title}</a>`
  return {
    title: `${lesson.title} – ${course.title}`,
    style: lessonStyle,
    ...(video && { loads: video }),
    body: html`<p class="up"><a href="?session=${session}">${course.title}</a></p>
<h1>${lesson.title}</h1>
<p class="quiet">Lesson ${number(place + 1, lang)} of ${number(lessons.length, lang)}</p>
${video && videoPlayer(video, `Video: ${lesson.title}`)}
<div class="lesson">
${content}</div>
${
  lesson.isFinished
    ? html`<div class="finished"><p role="status">You have finished this lesson.</p>${completed(progress)}${
        progress.isCompleted && html`<p><a href="?session=${session}#certificate">Your certificate</a></p>`
      }</div>`
    : html`<form method="post" action="?">
<input type="hidden" name="session" value="${session}">
<input type="hidden" name="lesson" value="${lesson.id}">
<button type="submit">Finish this lesson</button>
</form>`
}
${
  (previous || next) &&
  html`<nav class="ways" aria-label="Lessons">
${previous && html`<p>Previous: ${link(previous)}</p>`}
${next && html`<p>${lesson.isFinished ? follow(next) : html`Next: ${link(next)}`}</p>`}
</nav>`
}`,
  }
}

const certificateStyle = `
main {
  max-width: 54rem;
  margin-top: 4vh;
  padding: clamp(1.75rem, 6vw, 4rem) clamp(1.25rem, 6vw, 4rem);
  border: .4rem double var(--act);
  text-align: center
}
.brand { margin: 0 0 2rem; padding: 0; border: 0; font-size: 1.2rem }
.brand img { margin: 0 auto }
h1 { margin: 0 0 1.5rem; color: var(--link); font-size: 1rem; font-weight: 700; letter-spacing: .14em; text-transform: uppercase }
article p { margin: 0 0 .75rem }
article .name { font-size: clamp(1.6rem, 5vw, 2.6rem); font-weight: 700; line-height: 1.2 }
article .course { margin-bottom: 2.25rem; font-size: clamp(1.2rem, 3.5vw, 1.6rem); font-weight: 600; line-height: 1.3 }
dl { display: flex; flex-wrap: wrap; gap: 1.25rem 3.5rem; justify-content: center; margin: 0 0 2.25rem }
dt { color: var(--quiet); font-size: .9rem }
dd { margin: 0; font-size: 1.1rem; font-weight: 600 }
.valid { padding-top: 1.25rem; border-top: 1px solid var(--line) }
.valid strong { color: var(--link) }
.address { display: none }
article button { margin-top: .75rem }
@page { size: A4 landscape; margin: 12mm }
@media print {
  :root { color-scheme: light; --ink: #000; --quiet: #444; --ground: #fff; --card: #fff; --line: #bbb }
  body { display: flex; flex-direction: column; height: 185mm; padding: 0; border: 0; background: #fff }
  main {
    display: flex;
    flex: 1;
    flex-direction: column;
    justify-content: center;
    width: 100%;
    max-width: none;
    margin: 0;
    padding: 8mm 15mm;
    border: 2mm double var(--act);
    border-radius: 0;
    box-shadow: none;
    -webkit-print-color-adjust: exact;
    print-color-adjust: exact
  }
  .brand { margin-bottom: 7mm }
  .brand img { max-height: 18mm }
  h1 { margin-bottom: 6mm; font-size: 13pt }
  article .name { font-size: 30pt }
  article .course { margin-bottom: 7mm; font-size: 18pt }
  dl { margin-bottom: 7mm }
  .valid, article button { display: none }
  .address { display: block; margin: 0; font-size: 7.5pt; color: var(--quiet); overflow-wrap: anywhere }
  .imprint { margin-top: 2mm; font-size: 7pt; line-height: 1.25 }
  .imprint p { margin: 0 }
  .imprint a { display: none }
  main:has(.long) { padding: 4mm 15mm }
  .brand:has(+ .long) { margin-bottom: 3mm }
  .brand:has(+ .long) img { max-height: 12mm }
  .long { font-size: 11pt }
  .long h1, .long dl, .long .course { margin-bottom: 3mm }
  .long .name { font-size: 15pt }
  .long .course { font-size: 13pt }
}
`

const printScript = `
const print = document.getElementById('print')
print.hidden = false
print.addEventListener('click', () => window.print())
`

/** Number of characters that fit a printed page at the usual sizes, if all of them are wide. */
const usualLength = 200

/** `url` is where anyone can verify the certificate. */
export const certificateView = (
  { course, account, name: given, email, completedAt }: Certificate,
  url: string,
  locale: Locale,
): PageView => {
  const name = given ?? maskedEmail(email)
  const isLong = name.length + course.length + account.length > usualLength
  const day = dateText(completedAt, { ...locale, timezone: null })
  return {
    title: `Certificate – ${course}`,
    style: certificateStyle,
    script: printScript,
    body: html`<article${isLong && html` class="long"`}>
<h1>Certificate of completion</h1>
<p class="quiet">This certifies that</p>
<p class="name"><bdi>${name}</bdi></p>
<p class="quiet">has completed the course</p>
<p class="course"><bdi>${course}</bdi></p>
<dl>
<div><dt>Issued by</dt><dd><bdi>${account}</bdi></dd></div>
<div>
<dt>Completed on</dt>
<dd><time datetime="${completedAt.toISOString().slice(0, 10)}">${day}</time></dd>
</div>
</dl>
<p class="valid"><strong>✓ Valid.</strong>
<span class="quiet">Checked by ${new URL(url).host} when this page was opened. ${
      given === null
        ? 'Its holder can add a name in the course.'
        : 'The name is the member’s own entry; nobody has checked it.'
    }</span></p>
<p class="address">Check it at ${url}</p>
<button type="button" id="print" class="plain" hidden>Print or save as PDF</button>
</article>`,
  }
}
