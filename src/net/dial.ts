import { type BlockList, isIP } from 'node:net'
import { type Address, bareHost, mayDial } from './addresses.ts'
import type { Resolver } from './resolver.ts'

/** The rules for hosts: the resolver of their names, and the addresses that the operator allowed in addition to public ones. */
export interface DialRules {
  resolver: Pick<Resolver, 'addresses'>
  allow: BlockList
}

/**
 * A host leads, or may lead, to an address that svc must not connect to. The message has a literal address, which the URL has too,
 * but not the address of a name: that would reveal how names resolve in this network.
 */
export class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED'

  constructor(host: string) {
    super(isIP(host) === 0 ? 'host name leads to an address that is not public' : `address ${host} is not public`)
    this.name = 'AddressRefused'
  }
}

export const loopback: Address[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** `localhost` and the names under it, which never leave the machine (RFC 6761 section 6.3). */
export const isLoopbackName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

/** Whether a host that the operator configured is this machine, by its name or address only. */
export const isThisMachine = (hostname: string): boolean => {
  const host = bareHost(hostname)
  return isLoopbackName(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

const openLoopback = (host: string, allow: BlockList): Address[] => {
  const open = loopback.filter(({ address }) => mayDial(address, allow))
  if (open.length === 0) throw new AddressRefused(host)
  return open
}

/**
 * Returns the addresses of a host name or literal: at least one, and all of them allowed. Rejects with AddressRefused if any is
 * not allowed, and as `Resolver.addresses` does if there are none.
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
