import { type Html, html } from '../../pages/html.ts'
import type { FormField } from '../../studio/studio.ts'
import { maxTextLength } from '../interactions/answers.ts'
import { type BlockForm, type BlockPage, type Entered, enteredInto } from './blocks.views.ts'

/*
 * Votes, ratings, quizzes and forms on the page. Each option is a submit button, so one click answers, even without scripts. An
 * answer's link in the email marks the option, because programs follow links too; the page's script submits it for a person.
 */

/** Browsers post line breaks as CR LF; the options of the project have LF. */
const asWritten = (posted: string): string => posted.replaceAll('\r\n', '\n')

const shownText = (value: unknown): string => (typeof value === 'object' ? '' : String(value))

const option = (text: string, given: string | undefined, chosen: string | undefined): Html => {
  const isGiven = text === given
  const isChosen = !isGiven && text === chosen
  const className = `option${isGiven ? ' given' : ''}${isChosen ? ' chosen' : ''}`
  const state = html`class="${className}" aria-pressed="${String(isGiven)}"${isChosen && html` autofocus`}`
  return html`<button name="value" value="${text}" ${state}>${text}</button>`
}

const givenOf = ({ state }: BlockPage): string | undefined => (state ? shownText(state.value) : undefined)

/** Says which answer is recorded, or asks a recipient who followed an answer's link to confirm it. */
const notice = (page: BlockPage, options: readonly string[]): Html | null => {
  const { chosen } = page
  const given = givenOf(page)
  if (chosen !== undefined && chosen !== given && options.includes(chosen))
    return html`<p class="notice">You chose <strong>${chosen}</strong>. Press it once more to send your answer.</p>`
  return given === undefined
    ? null
    : html`<p class="notice good" role="status">
<strong>Thank you.</strong> Your answer is saved: ${given}. You can still change it.
</p>`
}

const optionButtons = (page: BlockPage, options: readonly string[], className = 'options'): Html =>
  html`${notice(page, options)}
<div class="${className}">${options.map((text) => option(text, givenOf(page), page.chosen))}</div>`

const vote: BlockForm<'vote'> = {
  type: 'vote',
  form: ({ props: { question, options } }, page) => html`<fieldset>
<legend>${question}</legend>
${optionButtons(page, options)}
</fieldset>`,
  valueOf: (_block, { value }) => value && asWritten(value),
}

/** Returns the number of columns on a narrow page, so that the last row is full. */
const columnsOf = (max: number): number => (max <= 7 ? max : max === 9 ? 3 : max / 2)

const rating: BlockForm<'rating'> = {
  type: 'rating',
  form({ props: { question, max } }, page) {
    const values = Array.from({ length: max }, (_, i) => String(i + 1))
    return html`<fieldset>
<legend>${question}</legend>
${optionButtons(page, values, `options row in-${columnsOf(max)}`)}
<p class="quiet">1 is the lowest, ${max} the highest.</p>
</fieldset>`
  },
  valueOf: (_block, { value }) => (value?.trim() ? Number(value) : value),
}

const graded = (text: string, given: string, right: string): Html => {
  if (text === right)
    return html`<li class="good">${text} <span>${text === given ? 'Your answer' : 'Right answer'}</span></li>\n`
  return text === given ? html`<li class="bad">${text} <span>Your answer</span></li>\n` : html`<li>${text}</li>\n`
}

const quiz: BlockForm<'quiz'> = {
  type: 'quiz',
  form({ props: { question, options, correct, explanation } }, page) {
    const given = givenOf(page)
    if (given === undefined)
      return html`<fieldset>
<legend>${question}</legend>
${optionButtons(page, options)}
</fieldset>`
    const right = options[correct]!
    const isRight = given === right
    return html`<h2>${question}</h2>
<p class="notice ${isRight ? 'good' : 'bad'}" role="status">
<strong>${isRight ? 'Right!' : 'Not quite.'}</strong>
You answered ${given}.${!isRight && ` The right answer is ${right}.`}
</p>
<ul class="graded">
${options.map((text) => graded(text, given, right))}</ul>
${explanation && html`<p>${explanation}</p>`}`
  },
  valueOf: (_block, { value }) => value && asWritten(value),
}

/** Prefix of the author's field names, so that they can't collide with the page's own inputs. */
const prefix = 'field.'

const input = (blockId: string, { name, label, type, required, options = [] }: FormField, entered: Entered): Html => {
  const id = `${blockId}.${name}`
  const own = html`id="${id}" name="${prefix}${name}"${required && html` required`}`
  const value = enteredInto(entered, `${prefix}${name}`)
  const title = html`<label for="${id}">${label}${!required && html` <span class="quiet">(optional)</span>`}</label>`
  switch (type) {
    case 'textarea':
      return html`<div class="field">
${title}
<textarea ${own} rows="4" maxlength="${maxTextLength}">${'\n'}${value}</textarea>
</div>`
    case 'select':
      return html`<div class="field">
${title}
<select ${own}>
<option value="">Please choose</option>
${options.map((text) => html`<option value="${text}"${text === value && html` selected`}>${text}</option>`)}
</select>
</div>`
    case 'checkbox':
      return html`<div class="field check">
<input type="checkbox" value="true" ${own}${value !== '' && html` checked`}>
${title}
</div>`
    default:
      return html`<div class="field">
${title}
<input type="${type}"${type === 'number' && html` step="any"`} ${own} value="${value}">
</div>`
  }
}

const form: BlockForm<'form'> = {
  type: 'form',
  form({ id, props: { title, fields } }, { state, entered }) {
    if (state)
      return html`<h2>${title}</h2>
<p class="notice good" role="status">Thank you, we have your answers.</p>`
    return html`<h2>${title}</h2>
${fields.map((field) => input(id, field, entered))}
<button>Send</button>`
  },
  labels: ({ props: { fields } }) => fields.map(({ name, label }) => [name, label]),
  maxLengths: ({ props: { fields } }) => fields.map(() => maxTextLength),
  valueOf: ({ props: { fields } }, posted) =>
    Object.fromEntries(fields.map(({ name }) => [name, asWritten(enteredInto(posted, `${prefix}${name}`))])),
}

// A list of several kinds: each is called only with blocks of its own type.
export const forms: readonly BlockForm[] = [vote, rating, quiz, form]
