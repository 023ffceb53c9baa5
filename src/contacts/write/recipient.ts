import { lockKey } from '../../lib/locks.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'

/*
 * The lock of an address, which need not be a contact. An erasure holds it from its beginning. A unit of work that writes an address
 * that was read before shares it, and then reads again whether the address was erased: it runs entirely before or after the erasure.
 */

const taking = (name: string, lock: string) =>
  preparedStatement(
    name,
    { row: { [lock]: 'void' }, parameters: { recipient: 'text' } },
    `select ${lock}(${lockKey('recipient', ':recipient')})`,
  )

const lockAddress = taking('lock-recipient', 'pg_advisory_xact_lock')
const shareAddress = taking('share-recipient', 'pg_advisory_xact_lock_shared')

const keyOf = (accountId: string, email: string) => ({ recipient: `${accountId} ${email}` })

/** Makes concurrent changes about a recipient wait for each other. Call it before locking any row of the recipient. */
export const lockRecipient = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(lockAddress, keyOf(accountId, email))
}

/** Makes an erasure of the address wait for this unit of work. Call it before locking any row of the recipient. */
export const shareRecipient = async ({ sql, accountId }: Work, email: string): Promise<void> => {
  await sql(shareAddress, keyOf(accountId, email))
}
