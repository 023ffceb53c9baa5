import type { Work } from '../store/work.ts'
import { countContacts } from './contacts.count.ts'
import { lockAddress, tellRemoved } from './contacts.remove.ts'

const leaving = `
  with gone as (
    delete from contacts where account_id = $1 and row_id = $2 and list_id = $3 returning 1
  ), orphan as (
    delete from addresses where account_id = $1 and email = $4 and exists (select from gone)
      and not exists (select from contacts where account_id = $1 and row_id = $2 and list_id <> $3)
    returning 1
  )
  select (select count(*) from orphan) as addresses from gone`

/**
 * Takes a normalised address out of one list, and gives whether it was in it. With its last list the address leaves the
 * account. No event fires.
 */
export const leaveList = async (work: Work, listId: string, email: string): Promise<boolean> => {
  const { sql, accountId } = work
  const rowId = await lockAddress(work, email)
  if (rowId === null) return false
  const [gone] = await sql<{ addresses: number }>(leaving, [accountId, rowId, listId, email], 'leave-list')
  if (!gone) return false
  await tellRemoved(work, { listId, email, rowId })
  countContacts(work, listId, -1, -gone.addresses)
  return true
}
