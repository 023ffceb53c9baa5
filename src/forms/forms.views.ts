import { type Html, html } from '../pages/html.ts'
import { failurePage, formStyle, type PageView, successMark } from '../pages/page.ts'
import type { FormField } from '../studio/studio.ts'
import { type AnswerFault, answerMaxLength, type Form, honeypotName, type Signup, type SignupStatus } from './forms.ts'

/** The views of signup forms, as functions of plain data. */

const style = `${formStyle}
label span { font-weight: 400; color: var(--quiet) }
.tick { display: flex; gap: .6rem; align-items: center }
.tick input { flex: none; width: 1.25rem; min-height: 1.25rem; margin: 0 }
.tick label { margin: 0; font-weight: 400 }
.fault { margin: .25rem 0 0 }
[aria-invalid] { border-color: var(--fault) }
.faults { margin: 0 0 1rem; padding: .75rem 1rem; border: 1px solid var(--fault); border-radius: .5rem }
.faults ul { margin: .25rem 0 0; padding-left: 1.25rem }
`

/** The `autocomplete` values of common column names. */
const autocompletes: ReadonlyMap<string, string> = new Map([
  ['name', 'name'],
  ['first_name', 'given-name'],
  ['last_name', 'family-name'],
  ['company', 'organization'],
  ['phone', 'tel'],
  ['country', 'country-name'],
  ['city', 'address-level2'],
])

const emailField: FormField = { name: 'email', label: 'Email', type: 'email', required: true }

interface Entered {
  /** The entered values by field name. */
  values: Readonly<Record<string, string>>
  faults: readonly AnswerFault[]
}

const control = (field: FormField, own: Html, value: string): Html => {
  switch (field.type) {
    case 'textarea':
      return html`<textarea ${own} rows="4">${'\n'}${value}</textarea>`
    case 'select':
      return html`<select ${own}>
<option value="">Please choose</option>
${field.options!.map(
  (option) => html`<option value="${option}"${option === value && html` selected`}>${option}</option>
`,
)}</select>`
    case 'checkbox':
      return html`<input type="checkbox" value="true" ${own}${value !== '' && html` checked`}>`
    case 'email':
      return html`<input type="email" ${own} value="${value}">`
    case 'number':
      return html`<input type="text" inputmode="decimal" ${own} value="${value}">`
    default:
      return html`<input type="text" ${own} value="${value}">`
  }
}

const completing = ({ name, type }: FormField): string | undefined =>
  type === 'email' ? 'email' : autocompletes.get(name.toLowerCase())

const fieldOf = (field: FormField, id: string, { values, faults }: Entered): Html => {
  const { name, label, type, required } = field
  const fault = faults.find((one) => one.name === name)
  const complete = completing(field)
  const isText = type !== 'select' && type !== 'checkbox'
  const own = html`id="${id}" name="${name}"${required && html` required`}${
    isText && html` maxlength="${answerMaxLength(type)}"`
  }${complete && html` autocomplete="${complete}"`}${fault && html` aria-invalid="true" aria-describedby="${id}-fault"`}`
  const title = html`<label for="${id}">${label}${!required && html` <span>(optional)</span>`}</label>`
  const input = control(field, own, Object.hasOwn(values, name) ? values[name]! : '')
  return html`<div class="field">
<div${type === 'checkbox' && html` class="tick"`}>${type === 'checkbox' ? [input, title] : [title, input]}</div>
${fault && html`<p class="fault" id="${id}-fault">${label} ${fault.message}</p>`}
</div>
`
}

const summary = (fields: readonly FormField[], faults: readonly AnswerFault[]): Html | false =>
  faults.length > 0 &&
  html`<div class="faults" role="alert">
<strong>Please check:</strong>
<ul>
${faults.map(({ name, message }) => {
  const place = fields.findIndex((field) => field.name === name)
  return html`<li><a href="#field-${place}">${fields[place]!.label} ${message}</a></li>
`
})}</ul>
</div>
`

/** Returns the hosted form. With faults, it shows the entered values again. */
export const formPage = (
  { name, fields, doubleOptIn }: Pick<Form, 'name' | 'fields' | 'doubleOptIn'>,
  entered: Entered = { values: {}, faults: [] },
): PageView => {
  const all = [emailField, ...fields]
  return {
    status: entered.faults.length > 0 ? 400 : 200,
    title: entered.faults.length > 0 ? `Please check: ${name}` : name,
    style,
    body: html`<h1>${name}</h1>
${summary(all, entered.faults)}<form method="post">
${all.map((field, i) => fieldOf(field, `field-${i}`, entered))}<div class="trap" aria-hidden="true">
<label>Leave this empty<input type="text" name="${honeypotName}" tabindex="-1" autocomplete="off"></label>
</div>
${doubleOptIn && html`<p class="quiet">We’ll email you a link to confirm your address.</p>`}
<button type="submit">Sign up</button>
</form>`,
  }
}

export const noForm: PageView = failurePage(
  404,
  'There is no form here',
  'It may have been closed, or its address was cut off on the way.',
)

export const closedPage = (name: string): PageView => ({
  status: 409,
  title: name,
  body: html`<h1>${name}</h1>
<p>Sorry, this form takes no new signups at the moment. Please try again later.</p>`,
})

export const thanksPage = (name: string, status: SignupStatus): PageView =>
  status === 'pending'
    ? {
        title: `Check your email: ${name}`,
        body: html`<h1>One more step</h1>
<p>If your address needs confirming and can receive our email, we’ll send it a link.
Open the link to confirm your address.</p>
<p class="quiet">No email? You may already be signed up, or your address may have a typing error.
Check your spam folder, or sign up again after five minutes.</p>`,
      }
    : {
        title: `Thank you: ${name}`,
        body: html`${successMark}<h1>Thank you</h1>
<p>You are signed up for ${name}.</p>`,
      }

export const questionPage = ({ email, formName }: Signup): PageView => ({
  title: 'Confirm your sign-up',
  body: html`<h1>Confirm your sign-up</h1>
<p>Please confirm that <strong>${email}</strong> should be signed up for ${formName}.</p>
<form method="post"><button type="submit">Confirm</button></form>`,
})

export const confirmedPage = ({ email }: Signup): PageView => ({
  title: 'You are signed up',
  body: html`${successMark}<h1>You are signed up</h1>
<p><strong>${email}</strong> is confirmed. Thank you.</p>`,
})
