import { addressPattern } from '../lib/erased.ts'
import { notFound, shown } from '../lib/problem.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App, PersonalDataPart } from '../store/work.ts'
import { readContacts } from './contacts.find.ts'
import type { Contact } from './contacts.view.ts'

const findingsOf = statement(
  'export-findings',
  { row: { finding: 'text', createdAt: 'int8' }, parameters: { accountId: 'text', email: 'text' } },
  `select finding, ${epochMs('created_at')} as "createdAt" from address_findings
   where account_id = :accountId and email = :email order by finding`,
)

/**
 * A SQL condition that holds for rejected rows that name the normalised address `:email`, perhaps beside others. `:pattern` is its
 * `addressPattern`. Looking for the text first is cheaper.
 */
export const isRejectNaming =
  'account_id = :accountId and strpos(lower(email), :email) > 0 and (lower(trim(email)) = :email or email ~* :pattern)'

const rejectsOf = statement(
  'export-import-rejects',
  {
    row: { importId: 'text', line: 'int4', email: 'text', reason: 'text' },
    parameters: { accountId: 'text', email: 'text', pattern: 'text' },
  },
  `select import_id as "importId", line, email, reason from import_rejects where ${isRejectNaming} order by import_id, line`,
)

const readsOf = statement(
  'export-access-log',
  {
    row: { id: 'text', at: 'int8', actor: 'text', listId: 'text?', found: 'int4' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select id, ${epochMs('at')} as at, actor, list_id as "listId", found from access_log
   where account_id = :accountId and email = :email order by id`,
)

/** Personal data about an address beside its contacts. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'findings',
    read: ({ sql, accountId }, email) => sql(findingsOf, { accountId, email }),
  },
  {
    name: 'importRejects',
    read: ({ sql, accountId }, email) => sql(rejectsOf, { accountId, email, pattern: addressPattern(email) }),
  },
  {
    name: 'accessLog',
    // Kept as the record of who has read the data.
    staysAtErasure: true,
    read: ({ sql, accountId }, email) => sql(readsOf, { accountId, email }),
  },
]

/** All personal data about an address: its contacts, its verification result, and the rows of each part of other features. */
type Person = {
  email: string
  contacts: Contact[]
  verification: Contact['verification']
} & Record<string, unknown>

/** Returns all personal data about a normalised address. Throws Problem `not_found` if there is none. */
export const readPerson = async (
  { personalData }: Pick<App, 'personalData'>,
  work: AccountSql,
  email: string,
): Promise<Person> => {
  const contacts = await readContacts(work, email)
  const person: Person = { email, contacts, verification: contacts[0]?.verification ?? null }
  let count = contacts.length
  for (const { name, read } of await personalData()) {
    const rows = await read(work, email)
    person[name] = rows
    count += rows.length
  }
  if (count === 0) throw notFound(`Nothing is held about ${shown(email)}`, { hint: 'svc contacts list' })
  return person
}

/** Returns whether any part has rows that an erasure of the address would blank or remove. */
export const hasPersonalData = async (
  parts: readonly PersonalDataPart[],
  work: AccountSql,
  email: string,
): Promise<boolean> => {
  for (const { read, staysAtErasure } of parts) if (!staysAtErasure && (await read(work, email)).length > 0) return true
  return false
}

/** Counts the rows of each part that an erasure of the address would blank or remove. */
export const countPersonalData = async (
  parts: readonly PersonalDataPart[],
  work: AccountSql,
  email: string,
): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { name, read, staysAtErasure } of parts) {
    if (!staysAtErasure) counts[name] = (await read(work, email)).length
  }
  return counts
}
