import { connect, type Socket } from 'node:net'
import type { Address } from './addresses.ts'

/** Delay before the next address is tried as well (RFC 8305 section 5). */
const attemptDelayMs = 250
/** After this long all addresses are being tried, whatever their number. */
const allTriedMs = 2000
/** Maximum number of addresses that are tried: a name can have any number of them. */
const mostTried = 16

// An own error: undici's would load undici in processes that only connect to relays.
const timedOut = () => Object.assign(new Error('The connection timed out'), { code: 'ETIMEDOUT' })

/** Returns addresses with alternating families, beginning with that of the first address (RFC 8305 section 4). */
const interleaveFamilies = (addresses: readonly Address[]): Address[] => {
  const firsts = addresses.filter(({ family }) => family === addresses[0]!.family)
  const others = addresses.filter(({ family }) => family !== addresses[0]!.family)
  const pairs = firsts.flatMap((first, i) => [first, ...others.slice(i, i + 1)])
  return [...pairs, ...others.slice(firsts.length)].slice(0, mostTried)
}

/**
 * Opens a TCP connection to the first of the addresses that accepts one (RFC 8305, Happy Eyeballs): the next address is tried, in
 * addition to the others, when one has failed or none has answered for a moment. So an address that drops packets costs only that
 * moment, and a slow one is not given up. Rejects with the first failure when all have failed, with ETIMEDOUT after `limitMs`.
 */
export const connectToFirst = (addresses: readonly Address[], port: number, limitMs: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const untried = interleaveFamilies(addresses)
    const stepMs = Math.min(attemptDelayMs, allTriedMs / untried.length)
    const trying = new Set<Socket>()
    let failure: Error | undefined
    let next: NodeJS.Timeout | undefined

    const end = (act: () => void) => {
      clearTimeout(deadline)
      clearTimeout(next)
      for (const socket of trying) socket.destroy()
      trying.clear()
      act()
    }

    const failed = (socket: Socket, error: Error) => {
      if (!trying.delete(socket)) return // already given up
      failure ??= error
      if (untried.length > 0) tryNext()
      else if (trying.size === 0) end(() => reject(failure))
    }

    const tryNext = () => {
      clearTimeout(next)
      const { address, family } = untried.shift()!
      const socket = connect({ host: address, family, port, noDelay: true, keepAlive: true })
      trying.add(socket)
      socket.on('error', (error) => failed(socket, error))
      socket.once('connect', () => {
        trying.delete(socket)
        end(() => resolve(socket))
      })
      if (untried.length > 0) next = setTimeout(tryNext, stepMs)
    }

    const deadline = setTimeout(() => end(() => reject(timedOut())), limitMs)
    tryNext()
  })
