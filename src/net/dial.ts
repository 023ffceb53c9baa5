import { type BlockList, isIP } from 'node:net'
import { mayDial } from './addresses.ts'
import type { Address, Resolver } from './resolver.ts'

/** What judges a host: how its name is looked up, and which addresses the operator opened beside the public ones. */
export interface DialRules {
  resolver: Pick<Resolver, 'addresses'>
  allow: BlockList
}

/**
 * A host leads, or may lead, to an address that must not be dialled. A literal is named, as its URL does; where a name leads
 * is not: that would tell a stranger how the names of this network resolve.
 */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED'

  constructor(host: string) {
    super(isIP(host) === 0 ? 'host name leads to an address that is not public' : `address ${host} is not public`)
    this.name = 'AddressRefused'
  }
}

/** A host name as it is compared: lower case, without brackets and trailing dots. */
export const bareHost = (hostname: string): string =>
  hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')

const loopback: Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** `localhost` and the names under it, which never leave the machine (RFC 6761 section 6.3). */
export const isLoopbackName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

const openLoopback = (host: string, allow: BlockList): Address[] => {
  const open = loopback.filter(({ address }) => mayDial(address, allow))
  if (open.length === 0) throw new AddressRefused(host)
  return open
}

/**
 * The addresses of a host name or literal, every one of which may be dialled; at least one. Rejects with AddressRefused if
 * any may not, and as `Resolver.addresses` does if there are none.
 */
export const dialAddresses = async (hostname: string, rules: DialRules, limitMs: number): Promise<Address[]> => {
  const host = bareHost(hostname)
  const literal = isIP(host)
  if (literal === 0 && isLoopbackName(host)) return openLoopback(host, rules.allow)
  const addresses =
    literal === 0
      ? await rules.resolver.addresses(hostname, limitMs)
      : [{ address: host, family: literal as Address['family'] }]
  if (!addresses.every(({ address }) => mayDial(address, rules.allow))) throw new AddressRefused(host)
  return addresses
}
