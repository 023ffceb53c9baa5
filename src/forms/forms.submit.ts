import { addLead, type Fields, verifyAddresses } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { isEmailSyntax, normalizeEmail } from '../lib/email.ts'
import { conflict, invalid } from '../lib/problem.ts'
import { queueMessage } from '../messages/messages.ts'
import type { App, Work } from '../store/work.ts'
import { type AnswerFault, readAnswers } from './forms.answers.ts'
import { type Form, findForm } from './forms.find.ts'
import { confirmMail } from './forms.mails.ts'
import { trapName } from './forms.shapes.ts'

/** What somebody entered into a form, checked. */
export interface Submission {
  /** Normalised. */
  email: string
  fields: Fields
  /** What no person sees was filled in: a program was here. */
  isTrapped: boolean
}

/** The state of the contact that a submission made or met. */
export type SignupStatus = 'active' | 'pending'

const emailFault = (given: unknown): string | null => {
  if (typeof given !== 'string' || given.trim() === '') return 'is required'
  return isEmailSyntax(normalizeEmail(given)) ? null : 'must be an email address'
}

/**
 * Checks what was posted to a form: `email` and its fields; what it does not ask for is passed over. Gives the submission,
 * or every fault. `isWhole`: a browser posted it, of whom an absent checkbox is one that is not ticked.
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
  const trap = given[trapName]
  const isTrapped = trap !== undefined && trap !== null && trap !== ''
  return { submission: { email: normalizeEmail(given.email as string), fields: values, isTrapped }, faults: null }
}

/** As `readSubmission`. Throws Problem `invalid` that names the first field with a fault. */
export const demandSubmission = (form: Pick<Form, 'fields'>, given: Readonly<Record<string, unknown>>): Submission => {
  const { submission, faults } = readSubmission(form, given)
  if (!submission) throw invalid(`${faults[0]!.name} ${faults[0]!.message}`)
  return submission
}

/** How long a link to confirm by holds. */
const confirmMs = 30 * 86_400_000

// Only of who is pending still when this row is locked: who confirms at the same moment is mailed no link any more. The
// condition of the update is the contract's `at most once in 5 minutes`.
const claimMail = `
  insert into form_signups as s (account_id, row_id, list_id, form_id, form_name, mailed_at)
  select $1, c.row_id, c.list_id, $4, $5, $6 from (
    select row_id, list_id from contacts
    where account_id = $1 and list_id = $2 and row_id = $3 and status = 'pending' for no key update
  ) c
  on conflict (account_id, row_id, list_id) do update
    set form_id = excluded.form_id, form_name = excluded.form_name, mailed_at = excluded.mailed_at
    where s.mailed_at <= excluded.mailed_at - interval '5 minutes'
  returning 1`

type Mailer = Pick<App, 'config' | 'projects' | 'tokens'>

const mailLink = async (
  app: Mailer,
  work: Work,
  form: Form,
  { listId, rowId, email }: { listId: string; rowId: string; email: string },
): Promise<void> => {
  const { sql, accountId, now } = work
  const claimed = await sql(claimMail, [accountId, listId, rowId, form.id, form.name, now], 'claim-confirm-mail')
  if (claimed.length === 0) return
  const token = app.tokens.sign('confirm', [accountId, listId, rowId], now.getTime() + confirmMs)
  const mail = confirmMail({ formName: form.name, url: `${app.config.publicUrl}/f/confirm/${token}` })
  const source = { kind: 'lifecycle', id: form.id } as const
  await queueMessage(app, work, { ...mail, to: email, type: 'transactional', key: null, source })
}

/**
 * Takes a submission of a signup form: the contact, `form.submitted`, and `lead.new` or the mail with the link to confirm by
 * (decisions.md, Contacts and Public pages). Gives the contact's status; of one that a trap gave away, what a new contact
 * would have, and nothing happens. Verifies the address first, outside the transaction. Throws Problem `missing` for a form
 * or a list that is gone, `conflict` where the plan has no room.
 */
export const submitForm = async (
  app: Mailer & Pick<App, 'sql' | 'resolver' | 'now' | 'work'>,
  { accountId, actor }: { accountId: string; actor: string },
  formId: string,
  { email, fields, isTrapped }: Submission,
): Promise<SignupStatus> => {
  const verdicts = isTrapped ? new Map() : await verifyAddresses(app, [email])
  return app.work(accountId, actor, async (work) => {
    const form = await findForm(work, formId)
    const mustConfirm = form.doubleOptIn
    if (isTrapped) return mustConfirm ? 'pending' : 'active'
    const cause = { source: 'signup-form', form: { id: form.id, name: form.name } } as const
    const lead = await addLead(work, { ...cause, listId: form.listId, email, fields, verdicts, mustConfirm })
    if (!lead) throw conflict("The plan's contact limit is reached")
    const { contact } = lead
    await emit(work, 'form.submitted', () => [{ ...cause, fields, contact, submittedAt: work.now.getTime() }])
    if (contact.status === 'pending') await mailLink(app, work, form, contact)
    return contact.status
  })
}
