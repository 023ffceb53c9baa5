import { emit } from '../events/emit.ts'
import type { EventData } from '../events/shapes.ts'
import type { Work } from '../store/work.ts'
import type { Fields } from './contacts.fields.ts'
import { readContacts } from './contacts.find.ts'
import type { Verdict } from './contacts.verdict.ts'
import type { Contact } from './contacts.view.ts'
import { writeContacts } from './contacts.write.ts'

/** By what somebody came to a list: as `lead.new` tells it. */
export type LeadCause = Omit<EventData<'lead.new'>, 'contact'>

/** Somebody who comes to a list by a form. */
export interface Lead extends LeadCause {
  listId: string
  /** Normalised. */
  email: string
  /** As `normalizeFields` gives them; those that are not named stay. */
  fields: Fields
  /** Of `verifyAddresses`, which asks DNS and so is called before the unit of work. */
  verdicts: ReadonlyMap<string, Verdict>
  /** Nobody knows yet whether the address is whose it is said to be: who is new stays `pending` until `confirmLead`. */
  mustConfirm?: boolean
}

const tellNewLead = (work: Work, contact: Contact, { source, form }: LeadCause): Promise<void> =>
  emit(work, 'lead.new', () => [{ contact, source, form }])

/** Gives the contact, now active; null where it was not pending. Of several at once one alone finds it so. */
const activate = async (
  work: Work,
  { listId, rowId }: Pick<Contact, 'listId' | 'rowId'>,
  cause: LeadCause,
): Promise<Contact | null> => {
  const { sql, accountId, now } = work
  const [row] = await sql<{ email: string }>(
    `update contacts set status = 'active', updated_at = $4
     where account_id = $1 and list_id = $2 and row_id = $3 and status = 'pending' returning email`,
    [accountId, listId, rowId, now],
    'activate-contact',
  )
  if (!row) return null
  const [contact] = await readContacts(work, row.email, listId)
  await tellNewLead(work, contact!, cause)
  for (const listener of work.listeners) await listener.contactsActivated?.(work, [{ listId, rowId, email: row.email }])
  return contact!
}

/**
 * Adds who answered a form to a list, or changes the fields of who is in it, with the contact events of any write. `lead.new`
 * fires where the address becomes active in the list by it (decisions.md, Contacts): with `mustConfirm` not yet. An active
 * contact stays active; one that is pending becomes active unless it `mustConfirm`. Gives the contact as it is then, and
 * whether `lead.new` fired; null where the plan has no room for the address, and nothing is written. Throws Problem
 * `missing` for a list that is not there, `invalid` where it would get more than 40 columns, both before anything is written.
 */
export const addLead = async (work: Work, lead: Lead): Promise<{ contact: Contact; isNew: boolean } | null> => {
  const { listId, email, fields, verdicts, mustConfirm = false } = lead
  const status = mustConfirm ? 'pending' : 'active'
  for (;;) {
    const outcome = (await writeContacts(work, listId, [{ email, fields }], verdicts, { status })).get(email)
    if (outcome === 'skipped') return null
    const [contact] = await readContacts(work, email, listId)
    // It was there and unchanged, so nothing held it, and it has been erased meanwhile: then it comes anew.
    if (!contact) continue
    if (mustConfirm) return { contact, isNew: false }
    if (outcome === 'created') {
      await tellNewLead(work, contact, lead)
      return { contact, isNew: true }
    }
    const activated = await activate(work, contact, lead)
    return { contact: activated ?? contact, isNew: activated !== null }
  }
}

/**
 * Makes a pending contact active (double opt-in): `lead.new` fires, and the list's `list-added` journeys start. Gives the
 * contact; null where it is not pending, or no more in the list, and then nothing happens.
 */
export const confirmLead = (
  work: Work,
  contact: Pick<Contact, 'listId' | 'rowId'>,
  cause: LeadCause,
): Promise<Contact | null> => activate(work, contact, cause)
