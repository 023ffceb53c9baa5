import {
  addLead,
  type Contact,
  type LeadCause,
  normalizeFields,
  readContacts,
  verifyAddresses,
  writeContacts,
} from '../../contacts/contacts.ts'
import { emit } from '../../events/emit.ts'
import { Problem } from '../../lib/problem.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import type { SentMail } from '../engagement.sent.ts'
import type { BlockOf } from './blocks.ts'

/*
 * Turns a form's answer into a contact or a lead (docs/reference/studio.md#forms-in-email). The answer itself is stored in any case: a
 * deleted list, a full plan or a list with 40 columns loses nothing.
 */

type Verdicts = Awaited<ReturnType<typeof verifyAddresses>>

/** Verifies the recipient's address, which uses DNS: call it before the unit of work. */
export const verifyRecipient = async (app: App, sent: SentMail, { props }: BlockOf<'form'>): Promise<Verdicts> =>
  props.listId ? verifyAddresses(app, [sent.email]) : new Map()

type Fields = Record<string, string>

/** Returns null if the write finds that its list was deleted. Such a write has written nothing. */
const unlessDeleted = async <T>(write: () => Promise<T>): Promise<T | null> => {
  try {
    return await write()
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return null
    throw error
  }
}

/** Stores the answer's fields in the recipient's contact of the list, without an event; or adds the recipient as a lead. */
const saveAnswer = async (
  work: Work,
  { email }: SentMail,
  answered: { listId: string; answer: Fields; verifications: Verdicts; cause: LeadCause },
): Promise<{ contact: Contact; isNew: boolean } | null> => {
  const { listId, verifications, cause } = answered
  const fields = normalizeFields(answered.answer, [], { except: 'email' })
  const [known] = await readContacts(work, email, listId)
  if (known?.status === 'active') {
    const options = { events: false, leavesOutExcess: true }
    await unlessDeleted(() => writeContacts(work, listId, [{ email, fields }], verifications, options))
    const [contact = known] = await readContacts(work, email, listId)
    return { contact, isNew: false }
  }
  return unlessDeleted(() => addLead(work, { listId, email, fields, verifications, ...cause }))
}

const otherForm = preparedStatement(
  'first-form',
  { parameters: { accountId: 'text', email: 'text', projectId: 'text', id: 'text', blockId: 'text' } },
  `select from interactions
   where account_id = :accountId and email = :email and project_id = :projectId and kind = 'form' and (message_id, block_id) <> (:id, :blockId)
   limit 1`,
)

/** Returns whether the address has answered no other form of the project before. */
const isFirstForm = async ({ sql, accountId }: Work, { email, projectId, id }: SentMail, blockId: string) =>
  (await sql(otherForm, { accountId, email, projectId, id, blockId })).length === 0

/**
 * Fires the events of a form's first answer: `form.submitted`, and `lead.new` if it adds the address to the form's list or is the
 * first form of the project that a known contact answers. Returns the row id of the recipient, or null if it is in no list.
 */
export const publishForm = async (
  work: Work,
  sent: SentMail,
  { id, props }: BlockOf<'form'>,
  answer: Fields,
  verifications: Verdicts,
): Promise<string | null> => {
  const form = { id, name: props.title }
  const cause: LeadCause = { source: 'email-form', form }
  const { listId } = props
  const saved = listId ? await saveAnswer(work, sent, { listId, answer, verifications, cause }) : null
  const contact = saved?.contact ?? (await readContacts(work, sent.email))[0] ?? null
  await emit(work, 'form.submitted', () => [
    { source: 'email-form', form, fields: answer, contact, submittedAt: work.now.getTime() },
  ])
  if (contact && !saved?.isNew && (await isFirstForm(work, sent, id)))
    await emit(work, 'lead.new', () => [{ contact, ...cause }])
  return contact?.rowId ?? null
}
