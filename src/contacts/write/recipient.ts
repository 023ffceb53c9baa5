import { lockKey } from '../../lib/locks.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'

/*
 * Locks of an address, which need not be a contact. An erasure holds that of erasures from its beginning. A unit of work that writes an
 * address that was read before shares it, and then reads again whether the address was erased: it runs entirely before or after the
 * erasure. Changes of a recipient's choices and counts of soft bounces have a lock of their own, so that opens, clicks and answers
 * do not wait for them.
 */

const lockStatement = (name: string, lock: string, kind: 'recipient' | 'erasure') =>
  preparedStatement(
    name,
    { row: { [lock]: 'void' }, parameters: { address: 'text' } },
    `select ${lock}(${lockKey(kind, ':address')})`,
  )

const lockChoices = lockStatement('lock-recipient', 'pg_advisory_xact_lock', 'recipient')
const lockErased = lockStatement('lock-erasure', 'pg_advisory_xact_lock', 'erasure')
const shareErased = lockStatement('share-erasure', 'pg_advisory_xact_lock_shared', 'erasure')

const keyOf = (accountId: string, email: string) => ({ address: `${accountId} ${email}` })

/** Makes concurrent changes of a recipient's choices wait for each other. Call it before locking any row of the recipient. */
export const lockRecipient = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(lockChoices, keyOf(accountId, email))
}

/** Locks an address for its erasure: what holds it off meanwhile waits for this unit of work. Call it before locking any row. */
export const lockErasure = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(lockErased, keyOf(accountId, email))
}

/** Makes an erasure of the address wait for this unit of work. Call it before locking any row of the recipient. */
export const holdOffErasure = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(shareErased, keyOf(accountId, email))
}

// Addresses are locked one by one in their order, as by writes of contacts.
const sharing = (name: string, mode: string) =>
  preparedStatement(
    name,
    { row: { rowId: 'text' }, parameters: { accountId: 'text', emails: '_text' } },
    `select held.row_id as "rowId" from (select email from unnest(:emails::text[]) as i(email) order by email collate "C") o
     cross join lateral (select row_id from addresses where account_id = :accountId and email = o.email for key share${mode}) held`,
  )

const shareAddresses = sharing('share-addresses', '')
const shareFreeAddresses = sharing('share-free-addresses', ' skip locked')

/**
 * Makes the removal and the erasure of recipients wait for this unit of work. Returns those that still have their address. Waits for
 * open removals; with `skipLocked` it leaves out recipients who are being removed.
 */
export const shareRecipients = async <Of extends { rowId: string; email: string }>(
  { sql, accountId }: Work,
  recipients: readonly Of[],
  { skipLocked = false } = {},
): Promise<Of[]> => {
  if (recipients.length === 0) return []
  const emails = recipients.map(({ email }) => email)
  const rows = await sql(skipLocked ? shareFreeAddresses : shareAddresses, { accountId, emails })
  const held = new Set(rows.map(({ rowId }) => rowId))
  return recipients.filter(({ rowId }) => held.has(rowId))
}
