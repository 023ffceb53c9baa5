import type { Work } from '../store/work.ts'
import { countContacts } from './contacts.count.ts'
import { tellRemoved } from './contacts.remove.ts'

// The address is locked first, as in contacts.remove.ts: whoever adds it to a list comes wholly before or wholly after.
const leaving = `
  with gone as (
    delete from contacts where account_id = $1 and email = $2 and list_id = $3 returning email, row_id
  ), orphan as (
    delete from addresses a using gone g where a.account_id = $1 and a.email = g.email
      and not exists (select from contacts c where c.account_id = $1 and c.email = g.email and c.list_id <> $3)
    returning 1
  )
  select row_id as "rowId", (select count(*) from orphan) as addresses from gone`

/**
 * Takes a normalised address out of one list, and gives whether it was in it. With its last list the address leaves the
 * account. No event fires.
 */
export const leaveList = async (work: Work, listId: string, email: string): Promise<boolean> => {
  const { sql, accountId } = work
  await sql('select 1 from addresses where account_id = $1 and email = $2 for update', [accountId, email])
  const [gone] = await sql<{ rowId: string; addresses: number }>(leaving, [accountId, email, listId], 'leave-list')
  if (!gone) return false
  await tellRemoved(work, { listId, email, rowId: gone.rowId })
  countContacts(work, listId, -1, -gone.addresses)
  return true
}
