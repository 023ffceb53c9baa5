export { type AnswerFault, answerMaxLength } from './forms.answers.ts'
export { type AppliedForm, applyForms, createForm, deleteForm, updateForm } from './forms.apply.ts'
export { confirmSignup, readSignup, type Signup } from './forms.confirm.ts'
export {
  type Form,
  type FormView,
  findForm,
  findPublicForm,
  listForms,
  type PublicForm,
  viewForm,
} from './forms.find.ts'
export { FormFile, honeypotName } from './forms.shapes.ts'
export { forgetPeople, formStats } from './forms.stats.ts'
export {
  readSubmission,
  requireSubmission,
  type SignupStatus,
  type Submission,
  submitForm,
} from './forms.submit.ts'

declare module '../store/work.ts' {
  interface Settings {
    /** Submissions of signup forms per minute for each client address; 0 turns the limit off. */
    readonly rateLimitForms: number
    /** Whether the client's address is kept with a consent. */
    readonly consentAddresses: boolean
  }
}
