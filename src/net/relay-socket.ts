import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Address, bareHost } from './addresses.ts'
import { connectToFirst } from './connect.ts'
import { isLoopbackName } from './dial.ts'
import type { Resolver } from './resolver.ts'

/** Returns the addresses of a host that the operator chose; any address is allowed. */
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

/** Opens a TCP connection to a relay, at any address. Rejects after `limitMs` in all. */
const dialRelay = async (
  resolver: Pick<Resolver, 'addresses'>,
  host: string,
  port: number,
  limitMs: number,
): Promise<Socket> => {
  const endsAt = performance.now() + limitMs
  const addresses = await addressesOf(resolver, host, limitMs)
  return connectToFirst(addresses, port, Math.max(1, endsAt - performance.now()))
}

/** After this long without a greeting, `dialSmtp` tests whether the relay expects TLS. */
const silentMs = 2000
const asked = new Map<string, Promise<boolean>>()

/** Whether the socket becomes readable, or ends, within `limitMs`. Reads nothing. */
const isHeard = async (socket: Socket, limitMs: number): Promise<boolean> => {
  const timer = new AbortController()
  const { signal } = timer
  const heard = ['readable', 'error', 'close'].map((name) =>
    once(socket, name, { signal }).then(
      () => true,
      () => true,
    ),
  )
  return Promise.race([...heard, sleep(limitMs, false, { signal })]).finally(() => timer.abort())
}

/** Whether the other end answers a TLS handshake, whatever its certificate. */
const beginsWithTls = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    // An import would load it at the start of each thread (authorities.ts).
    const socket = process
      .getBuiltinModule('node:tls')
      .connect({ host, port, rejectUnauthorized: false, timeout: silentMs })
    const end = (found: boolean) => () => {
      resolve(found)
      socket.destroy()
    }
    socket
      .once('secureConnect', end(true))
      .once('timeout', end(false))
      .once('close', end(false))
      .on('error', end(false))
  })

/**
 * As `dialRelay`, for SMTP. A server that begins with TLS waits for the client while the client waits for its greeting: this
 * rejects within seconds in that case.
 */
export const dialSmtp = async (
  resolver: Pick<Resolver, 'addresses'>,
  { host, port, isSecure }: { host: string; port: number; isSecure: boolean },
  limitMs: number,
): Promise<Socket> => {
  const socket = await dialRelay(resolver, host, port, limitMs)
  const address = socket.remoteAddress
  if (isSecure || address === undefined || (await isHeard(socket, silentMs))) return socket
  if (!(await asked.getOrInsertComputed(`${address} ${port}`, () => beginsWithTls(address, port)))) return socket
  asked.delete(`${address} ${port}`)
  socket.destroy()
  throw new Error('The relay begins with TLS: use smtps:// for this port')
}
