import { missing } from '../lib/problem.ts'
import type { App, HeldPart, Work } from '../store/work.ts'
import { readContacts } from './contacts.find.ts'
import type { Contact } from './contacts.view.ts'

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

/** What contacts hold about an address beside its rows in lists. */
export const held: readonly HeldPart[] = [
  {
    name: 'findings',
    read: ({ sql, accountId }, email) =>
      sql(
        `select finding, ${epochMs('created_at')} as "createdAt" from address_findings
         where account_id = $1 and email = $2 order by finding`,
        [accountId, email],
      ),
  },
  {
    name: 'importRejects',
    read: ({ sql, accountId }, email) =>
      sql(
        `select import_id as "importId", line, email, reason from import_rejects
         where account_id = $1 and lower(trim(email)) = $2 order by import_id, line`,
        [accountId, email],
      ),
  },
  {
    name: 'accessLog',
    // It shows who read.
    staysAtErasure: true,
    read: ({ sql, accountId }, email) =>
      sql(
        `select id, ${epochMs('at')} as at, actor, list_id as "listId", found from access_log
         where account_id = $1 and email = $2 order by id`,
        [accountId, email],
      ),
  },
]

/** All that is held about an address: its row in each list, its verdict, and a list for each part of the features. */
export type Person = {
  email: string
  contacts: Contact[]
  verification: Contact['verification']
} & Record<string, unknown>

/** Everything that the account holds about a normalised address. Throws Problem `missing` where that is nothing. */
export const readPerson = async (
  { heldAbout }: Pick<App, 'heldAbout'>,
  work: Pick<Work, 'sql' | 'accountId'>,
  email: string,
): Promise<Person> => {
  const contacts = await readContacts(work, email)
  const person: Person = { email, contacts, verification: contacts[0]?.verification ?? null }
  let count = contacts.length
  for (const { name, read } of heldAbout) {
    const rows = await read(work, email)
    person[name] = rows
    count += rows.length
  }
  if (count === 0) throw missing(`Nothing is held about ${email}`, { hint: 'svc contacts list' })
  return person
}

/** Whether anything of the parts would go if the address were erased. */
export const isHeld = async (
  parts: readonly HeldPart[],
  work: Pick<Work, 'sql' | 'accountId'>,
  email: string,
): Promise<boolean> => {
  for (const { read, staysAtErasure } of parts) if (!staysAtErasure && (await read(work, email)).length > 0) return true
  return false
}

/** How many rows of each part are held about an address, of those that erasing it would blank or remove. */
export const countHeld = async (
  parts: readonly HeldPart[],
  work: Pick<Work, 'sql' | 'accountId'>,
  email: string,
): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { name, read, staysAtErasure } of parts) {
    if (!staysAtErasure) counts[name] = (await read(work, email)).length
  }
  return counts
}
