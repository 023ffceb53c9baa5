import { emit } from '../../events/emit.ts'
import type { EventData } from '../../events/shapes.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import type { Fields } from '../contacts.fields.ts'
import { readContacts } from '../contacts.find.ts'
import type { Contact } from '../contacts.view.ts'
import type { VerificationResult } from '../verification/result.ts'
import { writeContacts } from './write-contacts.ts'

/** How a person came to a list, as reported by `lead.new`. */
export type LeadCause = Omit<EventData<'lead.new'>, 'contact'>

/** A person who comes to a list by a form. */
export interface Lead extends LeadCause {
  listId: string
  /** The normalised address. */
  email: string
  /** The result of `normalizeFields`. Other fields of an existing contact stay. */
  fields: Fields
  /** The result of `verifyAddresses`, which asks DNS and so must be called before the unit of work. */
  verifications: ReadonlyMap<string, VerificationResult>
  /** The form has double opt-in: a new contact stays `pending` until `confirmLead`. */
  mustConfirm?: boolean
  /** Anyone can send the form: fields of a known contact that are not empty stay as they are. */
  fillsOnly?: boolean
}

const emitNewLead = (work: Work, contact: Contact, { source, form }: LeadCause): Promise<void> =>
  emit(work, 'lead.new', () => [{ contact, source, form }])

const activateContact = preparedStatement(
  'activate-contact',
  {
    row: { email: 'text' },
    parameters: { accountId: 'text', listId: 'text', rowId: 'text', now: 'timestamptz', fields: 'jsonb' },
  },
  `update contacts set status = 'active', updated_at = :now, fields = fields || :fields::jsonb
   where account_id = :accountId and list_id = :listId and row_id = :rowId and status = 'pending' returning email`,
)

/** Activates a pending contact with further fields and returns it, or null if it is not pending. If several calls race, exactly one activates it. */
const activate = async (
  work: Work,
  { listId, rowId }: Pick<Contact, 'listId' | 'rowId'>,
  cause: LeadCause,
  fields: Fields = {},
): Promise<Contact | null> => {
  const { sql, accountId, now } = work
  const [row] = await sql(activateContact, { accountId, listId, rowId, now, fields: JSON.stringify(fields) })
  if (!row) return null
  const [contact] = await readContacts(work, row.email, listId)
  await emitNewLead(work, contact!, cause)
  for (const listener of await work.listeners())
    await listener.contactsActivated?.(work, [{ listId, rowId, email: row.email }])
  return contact!
}

/** Returns those of the fields that the contact does not have yet. */
const emptyOf = ({ fields: own }: Contact, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(own, name) || own[name] === ''))

/**
 * Adds a person who submitted a form to a list, or updates the fields of the existing contact, with the usual contact events.
 * `lead.new` fires if this makes the address active in the list (docs/reference/rules.md#double-opt-in). With `mustConfirm`, a new
 * contact is pending, and an active one stays unchanged; otherwise a pending contact becomes active. Returns the contact after the
 * write, and whether `lead.new` fired; null if the plan's contact limit is reached, and nothing is written. Fields for whose columns
 * the list has no room are left out. Throws Problem `not_found` if the list does not exist, before anything is written.
 */
export const addLead = async (work: Work, lead: Lead): Promise<{ contact: Contact; isNew: boolean } | null> => {
  const { listId, email, verifications, mustConfirm = false, fillsOnly = false } = lead
  const status = mustConfirm ? 'pending' : 'active'
  for (;;) {
    const [known] = mustConfirm || fillsOnly ? await readContacts(work, email, listId) : []
    if (mustConfirm && known?.status === 'active') return { contact: known, isNew: false }
    const fields = known && fillsOnly ? emptyOf(known, lead.fields) : lead.fields
    // A contact that was added since the read is not written, and the next turn fills it.
    const keepExisting = fillsOnly && !known
    const options = { status, keepExisting, leavesOutExcess: true } as const
    const outcome = (await writeContacts(work, listId, [{ email, fields }], verifications, options)).get(email)
    const [contact] = await readContacts(work, email, listId)
    if (outcome === 'skipped' && !(keepExisting && contact)) return null
    // An unchanged contact is not locked, so it may have been erased meanwhile: add it again.
    if (!contact || outcome === 'skipped') continue
    if (mustConfirm) return { contact, isNew: false }
    if (outcome === 'created') {
      await emitNewLead(work, contact, lead)
      return { contact, isNew: true }
    }
    const activated = await activate(work, contact, lead)
    return { contact: activated ?? contact, isNew: activated !== null }
  }
}

/**
 * Activates a pending contact (double opt-in): `lead.new` fires, and the list's `list-added` journeys start. Returns the contact;
 * null if it is not pending or has left the list, and then nothing happens. `fields` are further fields that it gets, whose
 * columns the list has or will have.
 */
export const confirmLead = (
  work: Work,
  contact: Pick<Contact, 'listId' | 'rowId'>,
  cause: LeadCause,
  fields: Fields = {},
): Promise<Contact | null> => activate(work, contact, cause, fields)
