import type { App, Work } from '../store/work.ts'
import type { Contact } from './contacts.view.ts'

/** A contact as commands show it. The API has no `suppression` (docs/reference/api.md#contact). */
export interface ShownContact extends Contact {
  /** The reason why the address gets no marketing; empty if it does. */
  suppression: string
}

/** Returns contacts with the reasons why their addresses get no marketing. */
export const withSuppression = async (
  app: Pick<App, 'suppressing'>,
  reader: Pick<Work, 'sql' | 'accountId'>,
  contacts: readonly Contact[],
): Promise<ShownContact[]> => {
  const doubtful = contacts.filter(
    ({ status, verification }) => status !== 'active' || verification?.status === 'invalid',
  )
  const { reasonsOf } = await app.suppressing()
  const emails = (of: readonly Contact[]) => [...new Set(of.map(({ email }) => email))]
  const reasons = await reasonsOf(reader, emails(contacts), emails(doubtful))
  return contacts.map((contact) => ({ ...contact, suppression: reasons.get(contact.email) ?? '' }))
}
