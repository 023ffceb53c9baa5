import type { RelayAccess } from '../../net/smtp.ts'

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

/** Returns the access to a stored relay. `open` opens its sealed password. */
export const accessOf = (
  { host, port, isSecure, isTlsOptional, username, sealedPassword }: StoredRelay,
  open: (sealed: string) => string,
): RelayAccess => {
  const password = sealedPassword === null ? null : open(sealedPassword)
  return { host, port, isSecure, isTlsOptional, username, password }
}

/** Parses `smtp[s]://user:password@host:port[?tls=optional]`, the form of SVC_SMTP_URL. */
export const relayOfUrl = (text: string): RelayAccess => {
  const { protocol, hostname, port, username, password, search } = new URL(text)
  const isSecure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    isSecure,
    isTlsOptional: search === '?tls=optional',
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
  }
}
