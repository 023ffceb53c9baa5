import type { RowOf } from '../../store/column-types.ts'
import { columns } from '../../store/tables.ts'
import { relays } from '../messages.columns.ts'

/** The columns of a `StoredRelay`, for `from relays r`. */
export const relayColumns = columns(
  relays,
  ['host', 'port', 'isSecure', 'isTlsOptional', 'username', 'sealedPassword', 'bounceAddress'],
  'r',
)

/** A relay as it is stored; its password is sealed with the account's id as context. */
export type StoredRelay = RowOf<typeof relayColumns.types>
