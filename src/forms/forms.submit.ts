/*
 * A signup is a pending contact at once. Double opt-in needs a place for data that is not confirmed yet. A signup makes
 * the contact at once, with the status `pending`, and `contact.created` says so. What begins with a contact's arrival
 * (`lead.new`, `list-added`) waits for the confirmation (`contactsActivated`). What an active contact submits is kept
 * beside it until it is confirmed. There is no event for the confirmation itself.
 */

import { addLead, type Contact, type Fields, verifyAddresses, writeFairly } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { conflict, invalid } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { isSuppressed } from '../suppressions/suppressions.ts'
import { type AnswerFault, readAnswers } from './forms.answers.ts'
import { type Form, readForm } from './forms.find.ts'
import { type Mailer, sendLink } from './forms.link.ts'
import { honeypotName } from './forms.shapes.ts'
import { countSubmission } from './forms.stats.ts'

/** A checked submission of a form. */
export interface Submission {
  /** Normalised. */
  email: string
  fields: Fields
  /** The honeypot field was filled in, so the sender is a bot. */
  isHoneypotFilled: boolean
}

/** The status of a contact after a submission. */
export type SignupStatus = 'active' | 'pending'

const emailFault = (given: unknown): string | null => {
  if (typeof given !== 'string' || given.trim() === '') return 'is required'
  return isEmailSyntax(normalizeEmail(given)) ? null : 'must be an email address'
}

/**
 * Checks the values that were posted to a form: `email` and its fields; other values are ignored. Returns the submission, or
 * every fault. `isWhole` says that a browser posted it, so a missing checkbox is not ticked.
 */
export const readSubmission = (
  form: Pick<Form, 'fields'>,
  given: Readonly<Record<string, unknown>>,
  options: { isWhole?: boolean } = {},
): { submission: Submission; faults: null } | { submission: null; faults: AnswerFault[] } => {
  const fault = emailFault(given.email)
  const { values, faults } = readAnswers(form.fields, given, options)
  if (fault || faults) {
    const ofEmail = fault ? [{ name: 'email', message: fault }] : []
    return { submission: null, faults: [...ofEmail, ...(faults ?? [])] }
  }
  const honeypot = given[honeypotName]
  const isHoneypotFilled = honeypot !== undefined && honeypot !== null && honeypot !== ''
  return {
    submission: { email: normalizeEmail(given.email as string), fields: values, isHoneypotFilled },
    faults: null,
  }
}

/** Calls `readSubmission`. Throws Problem `invalid` with the first fault. */
export const requireSubmission = (form: Pick<Form, 'fields'>, given: Readonly<Record<string, unknown>>): Submission => {
  const { submission, faults } = readSubmission(form, given)
  if (!submission) throw invalid(`${faults[0]!.name} ${faults[0]!.message}`)
  return submission
}

/**
 * Returns the fields that an active contact must confirm after a submission to a double opt-in form: if they change the contact, or
 * if it has unsubscribed and now signs up again. Returns null if there is nothing to confirm.
 */
const fieldsToConfirm = async (work: Work, { email, fields: own }: Contact, fields: Fields): Promise<Fields | null> => {
  const isChange = Object.entries(fields).some(([name, value]) => (Object.hasOwn(own, name) ? own[name] : '') !== value)
  return isChange || (await isSuppressed(work, email, 'unsubscribed')) ? fields : null
}

/**
 * Processes a submission of a signup form: writes the contact, emits `form.submitted`, and `lead.new` or sends the confirmation link
 * (docs/reference/rules.md#double-opt-in). Returns the status that a new contact would have, so that a double opt-in form answers the
 * same for known and unknown addresses. A submission with the honeypot field filled in changes nothing. The address is verified
 * first, outside the transaction. Throws Problem `not_found` for a deleted form or list, `conflict` if the plan's contact limit is
 * reached.
 */
export const submitForm = async (
  app: Mailer & Pick<App, 'sql' | 'resolver' | 'now' | 'work'>,
  { accountId, actor }: { accountId: string; actor: string },
  formId: string,
  { email, fields: given, isHoneypotFilled }: Submission,
): Promise<SignupStatus> => {
  const verifications = isHoneypotFilled ? new Map() : await verifyAddresses(app, [email])
  return writeFairly(app, accountId, actor, async (work) => {
    const form = await readForm(work, formId)
    const mustConfirm = form.doubleOptIn
    if (isHoneypotFilled) return mustConfirm ? 'pending' : 'active'
    // The form may have lost fields since the submission was checked: they must not come back as columns of its list.
    const fields = Object.fromEntries(
      Object.entries(given).filter(([name]) => form.fields.some((field) => field.name === name)),
    )
    const cause = { source: 'signup-form', form: { id: form.id, name: form.name } } as const
    const to = { listId: form.listId, email, fields, verifications }
    const lead = await addLead(work, { ...cause, ...to, mustConfirm, fillsOnly: !mustConfirm })
    if (!lead) throw conflict("The plan's contact limit is reached")
    const { contact } = lead
    await emit(work, 'form.submitted', () => [{ ...cause, fields, contact, submittedAt: work.now.getTime() }])
    const { listId, rowId } = contact
    await countSubmission(work, { formId: form.id, listId, rowId, isConfirmed: !mustConfirm })
    if (!mustConfirm) return contact.status
    const unconfirmed = contact.status === 'active' ? await fieldsToConfirm(work, contact, fields) : null
    if (contact.status === 'pending' || unconfirmed)
      await sendLink(app, work, { listId, rowId, email, form: cause.form, fields: unconfirmed, shown: form.fields })
    return 'pending'
  })
}
