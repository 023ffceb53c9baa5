import { isIP, type Socket } from 'node:net'
import { connectToFirst } from './connect.ts'
import { bareHost, isLoopbackName } from './dial.ts'
import type { Address, Resolver } from './resolver.ts'

/** The addresses of a host that the operator chose, which may be any. */
export const addressesOf = async (
  resolver: Pick<Resolver, 'addresses'>,
  name: string,
  limitMs: number,
): Promise<Address[]> => {
  const host = bareHost(name)
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family: family as Address['family'] }]
  if (!isLoopbackName(host)) return resolver.addresses(host, limitMs)
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
}

/** A TCP connection to a relay, whose address the operator chose: it may be any. Rejects after `limitMs` in all. */
export const dialRelay = async (
  resolver: Pick<Resolver, 'addresses'>,
  host: string,
  port: number,
  limitMs: number,
): Promise<Socket> => {
  const endsAt = performance.now() + limitMs
  const addresses = await addressesOf(resolver, host, limitMs)
  return connectToFirst(addresses, port, Math.max(1, endsAt - performance.now()))
}
