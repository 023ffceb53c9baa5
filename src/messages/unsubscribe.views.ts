import { type Html, html } from '../pages/html.ts'
import type { PageView } from '../pages/page.ts'
import type { Preferences, TopicChoice } from '../suppressions/suppressions.ts'

export const question = (email: string): PageView => ({
  title: 'Unsubscribe',
  body: html`<h1>Unsubscribe?</h1>
<p>
We’ll stop sending newsletters and offers to <strong>${email}</strong>.
You’ll still get emails that you ask for, such as receipts.
</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
})

const style = `
fieldset { margin: 0 0 1rem; padding: 0; border: 0 }
legend { padding: 0 0 .25rem; font-weight: 600 }
.topic { display: flex; gap: .75rem; padding: .6rem 0; border-top: 1px solid var(--line) }
.topic input { flex: none; width: 1.25rem; height: 1.25rem; margin: .15rem 0 0 }
.topic label { display: block; font-weight: 600 }
.topic p { margin: 0 }
.all { margin-top: 1.5rem; padding-top: 1.25rem; border-top: 1px solid var(--line) }
h2 { margin: 0 0 .5rem; font-size: 1.1rem }
`

/** The names of the page's fields. */
export const fields = { action: 'action', shown: 'topics' } as const

/** The value of a checked box, whose name is the id of the topic. */
export const chosenValue = 'yes'

/** The buttons of the page. */
export const actions = { save: 'save', leave: 'everything', return: 'return' } as const

const box = ({ id, name, description, hasLeft }: TopicChoice): Html => {
  const describedBy = description !== '' && html` aria-describedby="${id}-about"`
  return html`<div class="topic">
<input type="checkbox" id="${id}" name="${id}" value="${chosenValue}"${!hasLeft && html` checked`}${describedBy}>
<div>
<label for="${id}">${name}</label>
${description !== '' && html`<p class="quiet" id="${id}-about">${description}</p>`}
</div>
</div>`
}

/** Shows the topics with a box each, and a button to leave everything. `isSaved` says that a change was just saved. */
const choices = (email: string, { topics }: Preferences, isSaved: boolean): PageView => {
  const about = topics.find(({ isOfMessage }) => isOfMessage)
  return {
    title: isSaved ? 'Your choices are saved' : 'Email preferences',
    style,
    body: html`<h1>Email preferences</h1>
${isSaved && html`<p class="notice" role="status">Your choices are saved.</p>`}
<p>
Choose what we send to <strong>${email}</strong>.
You’ll still get emails that you ask for, such as receipts.
</p>
${about && html`<p>The email with this link was about <strong>${about.name}</strong>.</p>`}
<form method="post">
<input type="hidden" name="${fields.shown}" value="${topics.map(({ id }) => id).join(',')}">
<fieldset>
<legend>Topics</legend>
${topics.map(box)}
</fieldset>
<button type="submit" name="${fields.action}" value="${actions.save}">Save my choices</button>
<div class="all">
<h2>Everything</h2>
<p>Stop all newsletters and offers, including those without a topic.</p>
<button class="plain" type="submit" name="${fields.action}" value="${actions.leave}">Unsubscribe from everything</button>
</div>
</form>`,
  }
}

/** Shows that nothing is sent any more, with the way back. */
export const left = (email: string): PageView => ({
  title: 'You are unsubscribed',
  style,
  body: html`<h1>You are unsubscribed</h1>
<p role="status">We won’t send any more newsletters or offers to <strong>${email}</strong>.</p>
<form method="post">
<div class="all">
<p>Was that a mistake?</p>
<button class="plain" type="submit" name="${fields.action}" value="${actions.return}">Subscribe again</button>
</div>
</form>`,
})

export const preferencePage = (email: string, preferences: Preferences, isSaved: boolean): PageView =>
  preferences.hasLeftEverything ? left(email) : choices(email, preferences, isSaved)

export const returned = (email: string): PageView => ({
  title: 'You are subscribed again',
  body: html`<h1>You are subscribed again</h1>
<p role="status">We’ll send our newsletters and offers to <strong>${email}</strong>.</p>`,
})
