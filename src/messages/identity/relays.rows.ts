/** A relay as it is stored; its password is sealed with the account's id as context. */
export interface StoredRelay {
  host: string
  port: number
  isSecure: boolean
  isTlsOptional: boolean
  username: string | null
  sealedPassword: string | null
  bounceAddress: string | null
}

/** The columns of a `StoredRelay`, for `from relays r`. */
export const relayColumns = `r.host, r.port, r.is_secure as "isSecure", r.is_tls_optional as "isTlsOptional", r.username,
  r.sealed_password as "sealedPassword", r.bounce_address as "bounceAddress"`

/** The types of `relayColumns`. */
export const relayTypes = {
  host: 'text',
  port: 'int4',
  isSecure: 'bool',
  isTlsOptional: 'bool',
  username: 'text',
  sealedPassword: 'text',
  bounceAddress: 'text',
} as const
