import { decodedPart } from '../lib/url-parts.ts'
import type { RelayAccess } from '../net/smtp.ts'
import type { StoredRelay } from './relays.rows.ts'

/** Returns the access to a stored relay. `open` opens its sealed password. */
export const accessOf = (
  { host, port, isSecure, isTlsOptional, username, sealedPassword }: StoredRelay,
  open: (sealed: string) => string,
): RelayAccess => {
  const password = sealedPassword === null ? null : open(sealedPassword)
  return { host, port, isSecure, isTlsOptional, username, password }
}

/** Parses `smtp[s]://user:password@host:port[?tls=optional]`, the form of SVC_SMTP_URL. Throws Problem `invalid`. */
export const relayOfUrl = (text: string): RelayAccess => {
  const { protocol, hostname, port, username, password, search } = new URL(text)
  const isSecure = protocol === 'smtps:'
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    isSecure,
    isTlsOptional: search === '?tls=optional',
    username: username === '' ? null : decodedPart(username),
    password: password === '' ? null : decodedPart(password),
  }
}
