import { type Html, html } from '../pages/html.ts'
import type { FormField } from '../studio/studio.ts'
import type { BlockForm, BlockPage } from './liveview.forms.pages.ts'

/*
 * Votes, ratings, quizzes and forms on the page. Each option is a button that posts itself: one click answers, with scripts or
 * without. One that came by a link in the mail is only marked: programs follow links too.
 */

const shownText = (value: unknown): string => (typeof value === 'object' ? '' : String(value))

const option = (text: string, label: string, given: string | undefined, chosen: string | undefined): Html => {
  const isGiven = text === given
  const isChosen = given === undefined && text === chosen
  return html`<button name="value" value="${text}" class="option${(isGiven || isChosen) && ' chosen'}"${
    isGiven && html` aria-pressed="true"`
  }${isChosen && html` autofocus`}>${label}${isGiven && ' ✓'}</button>`
}

const givenOf = ({ state }: BlockPage): string | undefined => (state ? shownText(state.value) : undefined)

/** Words for who came by a link in the mail, which chooses and does not answer. */
const invitation = ({ state, chosen }: BlockPage, options: readonly string[]): Html | null =>
  !state && chosen !== undefined && options.includes(chosen)
    ? html`<p class="quiet">You chose <strong>${chosen}</strong>: press it once more to send your answer.</p>`
    : null

const thanks = (page: BlockPage): Html | null =>
  page.state ? html`<p class="quiet">Thank you. You can still change your answer.</p>` : null

const vote: BlockForm<'vote'> = {
  type: 'vote',
  form: ({ props: { question, options } }, page) => html`<fieldset><legend>${question}</legend>
${invitation(page, options)}<div class="options">${options.map((text) => option(text, text, givenOf(page), page.chosen))}</div>
${thanks(page)}</fieldset>`,
  valueOf: (_block, { value }) => value,
}

const rating: BlockForm<'rating'> = {
  type: 'rating',
  form({ props: { question, max } }, page) {
    const values = Array.from({ length: max }, (_, i) => String(i + 1))
    return html`<fieldset><legend>${question}</legend>
${invitation(page, values)}<div class="options row">${values.map((text) => option(text, text, givenOf(page), page.chosen))}</div>
<p class="quiet">1 is the lowest, ${max} the highest.${page.state && ' Thank you. You can still change your answer.'}</p></fieldset>`
  },
  valueOf: (_block, { value }) => (value?.trim() ? Number(value) : value),
}

const quiz: BlockForm<'quiz'> = {
  type: 'quiz',
  form({ props: { question, options, correct, explanation } }, page) {
    const given = givenOf(page)
    if (given === undefined)
      return html`<fieldset><legend>${question}</legend>
${invitation(page, options)}<div class="options">${options.map((text) => option(text, text, undefined, page.chosen))}</div></fieldset>`
    const right = options[correct]!
    return html`<h2>${question}</h2>
<p><strong>${given === right ? 'Right!' : 'Not quite.'}</strong> You answered ${given}${given !== right && `; it is ${right}`}.</p>
${explanation && html`<p>${explanation}</p>`}`
  },
  valueOf: (_block, { value }) => value,
}

/** The names of a form's inputs begin with it: an author's name can't be taken for one of the page's own. */
const prefix = 'field.'

const input = (blockId: string, { name, label, type, required, options = [] }: FormField): Html => {
  const id = `${blockId}.${name}`
  const own = html`id="${id}" name="${prefix}${name}"${required && html` required`}`
  const title = html`<label for="${id}">${label}${required && html` <span class="quiet">(required)</span>`}</label>`
  switch (type) {
    case 'textarea':
      return html`<div class="field">${title}<textarea ${own} rows="4"></textarea></div>`
    case 'select':
      return html`<div class="field">${title}<select ${own}><option value="">Please choose</option>${options.map(
        (text) => html`<option>${text}</option>`,
      )}</select></div>`
    case 'checkbox':
      return html`<div class="field check"><input type="checkbox" value="true" ${own}>${title}</div>`
    default:
      return html`<div class="field">${title}<input type="${type}"${type === 'number' && html` step="any"`} ${own}></div>`
  }
}

const form: BlockForm<'form'> = {
  type: 'form',
  form({ id, props: { title, fields } }, { state }) {
    if (state) return html`<h2>${title}</h2><p>Thank you, your answer is in.</p>`
    return html`<h2>${title}</h2>
${fields.map((field) => input(id, field))}
<button>Send</button>`
  },
  valueOf: ({ props: { fields } }, posted) =>
    Object.fromEntries(fields.map(({ name }) => [name, posted[`${prefix}${name}`] ?? ''])),
}

export const forms: readonly BlockForm[] = [vote, rating, quiz, form] as unknown as readonly BlockForm[]
