import type { Work } from '../store/work.ts'

/** One contact: an address in a list. */
export interface ContactPlace {
  listId: string
  rowId: string
  email: string
}

// A list that is being deleted still has contacts for a while, and no one finds them.
const isListed = 'exists (select from contact_lists where id = list_id)'

const columns = 'list_id as "listId", row_id as "rowId", email'

/** What names a contact: a normalised address, which `listId` and `rowId` may narrow, or `listId` and `rowId`. */
export interface ContactName {
  email?: string | undefined
  listId?: string | undefined
  rowId?: string | undefined
}

const byRow = `select ${columns} from contacts
  where account_id = $1 and list_id = $3 and row_id = $4 and $2::text is null and ${isListed}`

const byEmail = `select ${columns} from contacts
  where account_id = $1 and row_id = (select row_id from addresses where account_id = $1 and email = $2)
    and ($3::text is null or list_id = $3) and ($4::text is null or row_id = $4) and ${isListed}
  order by updated_at desc, list_id limit 1`

/** The query of `locateContact`, also for a part of a larger statement: its parameters are `$1` to `$4`. */
export const locating = (
  accountId: string,
  { email, listId, rowId }: ContactName,
): { query: string; kind: 'row' | 'email'; params: (string | null)[] } => ({
  ...(email === undefined ? { query: byRow, kind: 'row' } : { query: byEmail, kind: 'email' }),
  params: [accountId, email ?? null, listId ?? null, rowId ?? null],
})

/** The contact, in the most recently updated list that has the address unless `listId` names one; null where none fits. */
export const locateContact = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  name: ContactName,
): Promise<ContactPlace | null> => {
  const { query, kind, params } = locating(accountId, name)
  const [place] = await sql<ContactPlace>(query, params, `locate-${kind}`)
  return place ?? null
}
