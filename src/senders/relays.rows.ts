import type { RowOf } from '../store/column-types.ts'
import { columns } from '../store/tables.ts'
import { relays } from './senders.columns.ts'

/** The columns of a `StoredRelay`, for `from relays r`. */
export const relayColumns = columns(
  relays,
  ['host', 'port', 'isSecure', 'isTlsOptional', 'username', 'sealedPassword', 'bounceAddress'],
  'r',
)

/** A relay as it is stored; its password is sealed with the account's id as context. */
export type StoredRelay = RowOf<typeof relayColumns.types>

/** Returns the SQL expression of the `StoredRelay` of an account as JSON. It is null if the account has none. */
export const relayOf = (account: string): string =>
  `(select row_to_json(r) from (select ${relayColumns.list} from relays r where r.account_id = ${account} limit 1) r)`
