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

/**
 * The contact of a normalised address (in the most recently updated list that has it, unless `listId` is given), or of
 * `listId` and `rowId`. null where there is none that fits all that is given.
 */
export const locateContact = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  named: { email?: string | undefined; listId?: string | undefined; rowId?: string | undefined },
): Promise<ContactPlace | null> => {
  const { email, listId = null, rowId = null } = named
  const [place] =
    email === undefined
      ? await sql<ContactPlace>(
          `select ${columns} from contacts where account_id = $1 and list_id = $2 and row_id = $3 and ${isListed}`,
          [accountId, listId, rowId],
          'locate-row',
        )
      : await sql<ContactPlace>(
          `select ${columns} from contacts
           where account_id = $1 and row_id = (select row_id from addresses where account_id = $1 and email = $2)
             and ($3::text is null or list_id = $3) and ($4::text is null or row_id = $4) and ${isListed}
           order by updated_at desc, list_id limit 1`,
          [accountId, email, listId, rowId],
          'locate-email',
        )
  return place ?? null
}
