import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/** Returns the certificates of a PEM file, one text each. Throws if there is none, or if one is malformed. */
export const readAuthorities = (file: string): string[] => {
  const begin = '-----BEGIN CERTIFICATE-----'
  const [, ...found] = readFileSync(file, 'utf8').split(begin)
  if (found.length === 0) throw new Error('no certificate')
  return found.map((text) => new X509Certificate(begin + text).toString())
}

/** Makes all later outbound TLS connections of this thread trust these authorities in addition to the default ones. */
export const trust = (authorities: readonly string[]): void => {
  if (authorities.length > 0) setDefaultCACertificates([...new Set([...getCACertificates('default'), ...authorities])])
}
